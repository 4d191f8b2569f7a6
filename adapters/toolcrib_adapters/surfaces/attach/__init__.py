"""Several clients that each start `toolcrib serve --stdio` share one running crib."""
