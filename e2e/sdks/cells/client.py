"""A client of the Python SDK that uses all that a server has, and prints what came of it: `[feature, outcome]` a line.

URL is the server's address, MODE `legacy` or `auto`.
"""

import json
import os
import uuid

import anyio
import mcp.types as types
from mcp.client import Client
from mcp.shared.exceptions import MCPError

URL, MODE = os.environ["URL"], os.environ["MODE"]
LIMIT_SECONDS = 20
WATCHED = "test://watched-resource"


async def elicit(context, params):
    names = params.requested_schema["properties"]
    return types.ElicitResult(action="accept", content={name: "Ada" for name in names})


async def sample(context, params):
    return types.CreateMessageResult(role="assistant", model="m", content=types.TextContent(text="Paris"))


async def roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///work")])


class Heard:
    """What the server says beside its results."""

    def __init__(self):
        self.logs = []
        self.updated = anyio.Event()
        self.tools = anyio.Event()

    async def log(self, params):
        self.logs.append(params.data)

    async def message(self, message):
        if isinstance(message, types.ResourceUpdatedNotification):
            self.updated.set()
        if isinstance(message, types.ToolListChangedNotification):
            self.tools.set()


def text(result):
    said = " ".join(part.text for part in result.content)
    return f"isError: {said}" if result.is_error else said


async def progress(client):
    seen = []

    async def on_progress(progress, total, message):
        seen.append(f"{progress:g}")

    await client.call_tool("test_tool_with_progress", {}, progress_callback=on_progress)
    return " ".join(seen)


async def logging(client, heard):
    if MODE == "legacy":
        await client.set_logging_level("info")
    await client.call_tool("test_tool_with_logging", {})
    return " ".join("log" for _ in heard.logs)


async def cancellation(client):
    key = uuid.uuid4().hex
    async with anyio.create_task_group() as tasks:

        async def on_progress(progress, total, message):
            tasks.cancel_scope.cancel()

        async def doomed():
            await client.call_tool("test_wait", {"key": key}, progress_callback=on_progress)

        tasks.start_soon(doomed)
    return text(await client.call_tool("test_wait_ended", {"key": key}))


async def changes(client, trigger, event, **wanted):
    if MODE == "legacy":
        if "resource_subscriptions" in wanted:
            await client.subscribe_resource(WATCHED)
        await client.call_tool(trigger, {})
        await event.wait()
        return "heard"
    async with client.listen(**wanted) as stream:
        await client.call_tool(trigger, {})
        await anext(stream)
        return "heard"


async def refused(client):
    """What a client hears that does not offer what the server asks for."""
    async with Client(URL, mode=MODE) as bare:
        try:
            return text(await bare.call_tool("test_input_required_result_elicitation", {}))
        except MCPError as error:
            return f"{error.code}: {error.message}"


async def prompt(client, name, args=None):
    return (await client.get_prompt(name, args)).messages[0].content.text


async def main():
    heard = Heard()

    def tool(name):
        async def call(client):
            return text(await client.call_tool(name, {}))

        return call

    async def listed(coroutine, key, part):
        return " ".join(str(getattr(one, part)) for one in getattr(await coroutine, key))

    async def read(client, uri):
        return (await client.read_resource(uri)).contents[0].text

    async def completion(client):
        ref = types.PromptReference(name="test_prompt_with_arguments")
        return " ".join((await client.complete(ref, {"name": "arg1", "value": "par"})).completion.values)

    async def revision(client):
        return client.protocol_version

    features = {
        "revision": revision,
        "list of tools": lambda c: listed(c.list_tools(), "tools", "name"),
        "call": tool("test_simple_text"),
        "error of a tool": tool("test_error_handling"),
        "list of resources": lambda c: listed(c.list_resources(), "resources", "uri"),
        "resource": lambda c: read(c, "test://static-text"),
        "unknown resource": lambda c: read(c, "test://none"),
        "list of templates": lambda c: listed(c.list_resource_templates(), "resource_templates", "uri_template"),
        "resource of a template": lambda c: read(c, "test://template/7/data"),
        "list of prompts": lambda c: listed(c.list_prompts(), "prompts", "name"),
        "prompt": lambda c: prompt(c, "test_prompt_with_arguments", {"arg1": "a", "arg2": "b"}),
        "completion": completion,
        "progress": progress,
        "log messages": lambda c: logging(c, heard),
        "cancellation": cancellation,
        "elicitation": tool("test_input_required_result_elicitation"),
        "sampling": tool("test_input_required_result_sampling"),
        "roots": tool("test_input_required_result_list_roots"),
        "several questions": tool("test_input_required_result_multiple_inputs"),
        "question of a prompt": lambda c: prompt(c, "test_input_required_result_prompt"),
        "question that is not offered": refused,
        "resource updates": lambda c: changes(
            c, "test_trigger_resource_change", heard.updated, resource_subscriptions=[WATCHED]
        ),
        "list changes": lambda c: changes(c, "test_trigger_tool_change", heard.tools, tools_list_changed=True),
    }
    async with Client(
        URL,
        mode=MODE,
        elicitation_callback=elicit,
        sampling_callback=sample,
        list_roots_callback=roots,
        logging_callback=heard.log,
        log_level="info",
        message_handler=heard.message,
    ) as client:
        for name, feature in features.items():
            try:
                with anyio.fail_after(LIMIT_SECONDS):
                    outcome = await feature(client)
            except MCPError as error:
                outcome = f"{error.code}: {error.message}"
            except Exception as error:
                outcome = f"{type(error).__name__}: {error}"
            print(json.dumps([name, outcome]), flush=True)


anyio.run(main)
