"""A server of the Python SDK with what the everything servers of the other SDKs have, under the same names.

It speaks both families of revisions, on a port of 127.0.0.1 that it prints.
"""

import json
import socket
from collections import defaultdict

import anyio
import mcp.types as types
import uvicorn
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

WAIT_SECONDS = 20
WORDS = ("paris", "park", "party")
WATCHED = "test://watched-resource"
TEXTS = {"test://static-text": "This is the content of the static text resource.", WATCHED: "Watched resource content."}
ASKED = {
    "test_input_required_result_elicitation": ("user_name",),
    "test_input_required_result_sampling": ("greeting",),
    "test_input_required_result_list_roots": ("client_roots",),
    "test_input_required_result_multiple_inputs": ("user_name", "greeting", "client_roots"),
}
TOOLS = (
    "test_simple_text",
    "test_error_handling",
    "test_tool_with_progress",
    "test_tool_with_logging",
    "test_wait",
    "test_wait_ended",
    "test_trigger_tool_change",
    "test_trigger_resource_change",
    *ASKED,
)

bus = InMemorySubscriptionBus()
# The sessions of older clients, and those that want to hear of a resource.
sessions = set()
subscribed = defaultdict(set)
ended = defaultdict(anyio.Event)


def form(message, name):
    schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


QUESTIONS = {
    "user_name": (form("What is your name?", "name"), types.ElicitResult),
    "user_context": (form("What context should the prompt use?", "context"), types.ElicitResult),
    "greeting": (
        types.CreateMessageRequest(
            params=types.CreateMessageRequestParams(
                messages=[types.SamplingMessage(role="user", content=types.TextContent(text="Generate a greeting"))],
                max_tokens=50,
            )
        ),
        types.CreateMessageResult,
    ),
    "client_roots": (types.ListRootsRequest(), types.ListRootsResult),
}


async def asked(ctx, params, names):
    """The answers; None while a client without sessions has not brought them."""
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        answers = params.input_responses or {}
        return answers if all(name in answers for name in names) else None
    of_call = ServerMessageMetadata(related_request_id=ctx.request_id)
    answers = {}
    for name in names:
        question, answer = QUESTIONS[name]
        # The SDK's own `list_roots` names no call, so that the question comes on the stream of the session.
        metadata = None if name == "client_roots" else of_call
        answers[name] = await ctx.session.send_request(question, answer, metadata=metadata)
    return answers


def unanswered(names):
    return types.InputRequiredResult(input_requests={name: QUESTIONS[name][0] for name in names})


def said(name, answer):
    if name == "greeting":
        return answer.content.text
    if name == "client_roots":
        return ", ".join(str(root.uri) for root in answer.roots)
    return " ".join(str(value) for value in (answer.content or {}).values())


def text(value, **more):
    return types.CallToolResult(content=[types.TextContent(text=value)], **more)


async def wait(ctx, key):
    """Waits until the call is cancelled."""
    try:
        await ctx.session.report_progress(0)
        await anyio.sleep(WAIT_SECONDS)
    except anyio.get_cancelled_exc_class():
        ended[key].set()
        raise
    return text("nobody has cancelled it")


async def wait_ended(key):
    with anyio.move_on_after(WAIT_SECONDS / 2):
        await ended[key].wait()
    return text("cancelled" if ended[key].is_set() else "still runs")


async def call_tool(ctx, params):
    name, args = params.name, params.arguments or {}
    if name == "test_simple_text":
        return text("This is a simple text response for testing.")
    if name == "test_error_handling":
        return text("This tool intentionally returns an error for testing", is_error=True)
    if name == "test_tool_with_progress":
        for progress in (0, 50, 100):
            await ctx.session.report_progress(progress, 100)
        return text("Tool with progress executed successfully")
    if name == "test_tool_with_logging":
        for step in ("started", "goes on", "completed"):
            await ctx.session.send_log_message("info", f"Tool {step}", related_request_id=ctx.request_id)
        return text("Tool with logging executed successfully")
    if name == "test_wait":
        return await wait(ctx, args["key"])
    if name == "test_wait_ended":
        return await wait_ended(args["key"])
    if name == "test_trigger_tool_change":
        await bus.publish(ToolsListChanged())
        for session in tuple(sessions):
            await session.send_tool_list_changed()
        return text("announced")
    if name == "test_trigger_resource_change":
        await bus.publish(ResourceUpdated(uri=WATCHED))
        for session in tuple(subscribed[WATCHED]):
            await session.send_resource_updated(WATCHED)
        return text("announced")
    if (names := ASKED.get(name)) is None:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name}")
    if (answers := await asked(ctx, params, names)) is None:
        return unanswered(names)
    return text("; ".join(said(one, answers[one]) for one in names))


async def list_tools(ctx, params):
    schema = {"type": "object", "properties": {"key": {"type": "string"}}}
    return types.ListToolsResult(tools=[types.Tool(name=name, input_schema=schema) for name in TOOLS])


async def list_resources(ctx, params):
    return types.ListResourcesResult(resources=[types.Resource(uri=uri, name=uri) for uri in TEXTS])


async def list_templates(ctx, params):
    template = types.ResourceTemplate(uri_template="test://template/{id}/data", name="template")
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(ctx, params):
    uri = str(params.uri)
    content = TEXTS.get(uri)
    if uri.startswith("test://template/"):
        content = f"Data for ID: {uri.split('/')[3]}"
    if content is None:
        code = types.INVALID_PARAMS if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else -32002
        raise MCPError(code, "Resource not found", {"uri": uri})
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=content)])


async def subscribe(ctx, params):
    subscribed[str(params.uri)].add(ctx.session)
    return types.EmptyResult()


async def unsubscribe(ctx, params):
    subscribed[str(params.uri)].discard(ctx.session)
    return types.EmptyResult()


async def list_prompts(ctx, params):
    arguments = [types.PromptArgument(name=name, required=True) for name in ("arg1", "arg2")]
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(name="test_simple_prompt"),
            types.Prompt(name="test_prompt_with_arguments", arguments=arguments),
            types.Prompt(name="test_input_required_result_prompt"),
        ]
    )


async def get_prompt(ctx, params):
    args = params.arguments or {}
    said_of = {
        "test_simple_prompt": "This is a simple prompt for testing.",
        "test_prompt_with_arguments": f"Prompt with arguments: arg1='{args.get('arg1')}', arg2='{args.get('arg2')}'",
    }
    content = said_of.get(params.name)
    if params.name == "test_input_required_result_prompt":
        if (answers := await asked(ctx, params, ("user_context",))) is None:
            return unanswered(("user_context",))
        content = f"Context: {said('user_context', answers['user_context'])}"
    if content is None:
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=types.TextContent(text=content))])


async def complete(ctx, params):
    values = [word for word in WORDS if word.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=values))


async def set_level(ctx, params):
    return types.EmptyResult()


async def remembering(ctx, call_next):
    """Remembers the sessions that hear of changes. They end with the process."""
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        sessions.add(ctx.session)
    return await call_next(ctx)


server = Server(
    "python-everything",
    version="1.0.0",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_list_resources=list_resources,
    on_list_resource_templates=list_templates,
    on_read_resource=read_resource,
    on_subscribe_resource=subscribe,
    on_unsubscribe_resource=unsubscribe,
    on_subscriptions_listen=ListenHandler(bus),
    on_list_prompts=list_prompts,
    on_get_prompt=get_prompt,
    on_completion=complete,
    on_set_logging_level=set_level,
)
server.middleware.append(remembering)
options = server.create_initialization_options
server.create_initialization_options = lambda *args: options(NotificationOptions(tools_changed=True))

with socket.create_server(("127.0.0.1", 0)) as listening:
    print(json.dumps({"port": listening.getsockname()[1]}), flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="warning")
    uvicorn.Server(config).run(sockets=[listening])
