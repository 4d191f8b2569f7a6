"""A catalogue of our own for measuring search: everyday servers, as a small company has them.

Written by us. A part of the tools carries Chinese descriptions or hints, as real servers from
Chinese vendors do. Used by `test_quality`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.registry.shelf import tool

if TYPE_CHECKING:
    from toolcrib_protocol.tool import Contract

# group -> name -> description; after a bar, "when to use" in the words of Chinese users.
_WRITTEN: Final = {
    "mail": {
        "search_messages": "Find e-mails by sender, subject or text.|查找邮件、搜索收件箱里的信",
        "read_message": "Return one e-mail with its attachments.|读取、打开一封邮件的内容",
        "send_message": "Send an e-mail to one or more people.|发送邮件、写信给同事",
        "create_draft": "Prepare an e-mail without sending it.|起草邮件，先存为草稿",
        "add_label": "Put a label on an e-mail.|给邮件加标签、分类",
        "set_out_of_office": "Answer mail automatically while you are away.|设置自动回复、休假通知",
    },
    "calendar": {
        "list_events": "Show the events of a day or week.|查看日程安排、今天有什么会",
        "create_event": "Put a meeting into the calendar and invite people.|安排会议、新建日程",
        "delete_event": "Cancel a meeting and tell the guests.|取消会议",
        "find_free_time": "Find a time when everybody is available.|找大家都有空的时间",
    },
    "git": {
        "create_branch": "Start a branch from a commit.",
        "commit_changes": "Record staged changes with a message.",
        "show_diff": "Show what changed between two revisions.",
        "merge_branch": "Bring one branch into another.",
        "revert_commit": "Undo a commit by a new one.",
        "blame_file": "Tell who last changed each line of a file.",
    },
    "issues": {
        "create_issue": "Report a bug or ask for a feature.|提交缺陷、报告一个bug",
        "list_issues": "List issues by label, state or assignee.|列出待处理的问题单",
        "assign_issue": "Make somebody responsible for an issue.|把问题指派给某人",
        "close_issue": "Mark an issue as done.|关闭问题单",
        "comment_on_issue": "Write a comment below an issue.|在问题单下评论",
    },
    "files": {
        "read_file": "Return the text of a file.",
        "write_file": "Replace a file's content.",
        "move_file": "Move or rename a file or folder.",
        "search_files": "Find files whose name or content matches a pattern.",
        "compress_folder": "Pack a folder into a zip archive.",
    },
    "database": {
        "run_query": "Run a read-only SQL statement and return its rows.|执行SQL查询数据库",
        "list_tables": "Name the tables and their columns.|列出数据库里的表和字段",
        "explain_query": "Show the plan of a slow SQL statement.|分析慢查询的执行计划",
        "backup_database": "Write a dump of the whole database.|备份数据库",
    },
    "billing": {
        "create_invoice": "Bill a customer for goods or services.|开具发票、给客户开票",
        "refund_payment": "Return money to a customer.|退款、把钱退给客户",
        "list_unpaid_invoices": "Show which customers still owe money.|查看未付款的账单、欠款客户",
        "change_plan": "Move a subscription to another price plan.|更换订阅套餐",
    },
    "weather-cn": {
        "current": "查询城市当前的天气、温度和湿度。",
        "forecast": "查询未来七天的天气预报，是否下雨。",
        "air_quality": "查询城市的空气质量指数和PM2.5。",
    },
    "maps-cn": {
        "geocode": "把地址转换为经纬度坐标。",
        "route_driving": "规划驾车路线，返回距离和预计时间。",
        "route_transit": "规划公交和地铁换乘路线。",
        "nearby": "搜索附近的餐厅、加油站、医院等地点。",
    },
    "tickets-cn": {
        "train_search": "查询两个城市之间的高铁和火车车次、余票。",
        "train_stations": "列出一个城市的所有火车站。",
        "flight_search": "查询航班时刻和机票价格。",
        "hotel_search": "按城市和日期搜索酒店房间。",
    },
    "cluster": {
        "list_pods": "Show the pods of a namespace and whether they run.",
        "read_logs": "Return the log lines of a container.",
        "scale_deployment": "Change how many replicas a deployment has.",
        "restart_deployment": "Replace all pods of a deployment one by one.",
        "list_alerts": "Show monitoring alerts that are firing.",
    },
    "chat": {
        "post_message": "Write a message into a channel.",
        "list_channels": "Name the channels of the workspace.",
        "read_thread": "Return the replies below a message.",
        "invite_to_channel": "Add a person to a channel.",
    },
    "media": {
        "resize_picture": "Make a picture smaller or larger.",
        "remove_background": "Cut out the subject of a photo.",
        "transcribe_audio": "Turn speech in a recording into text.|把录音转成文字",
        "translate_text": "Translate text into another language.|翻译成另一种语言",
        "convert_currency": "Convert an amount between currencies.|汇率换算、把美元换成人民币",
    },
}


def catalogue() -> list[Contract]:
    """All tools."""
    made = []
    for group, tools in _WRITTEN.items():
        for name, text in tools.items():
            description, _, hint = text.partition("|")
            made.append(tool(name, description, group, when_to_use=hint))
    return made
