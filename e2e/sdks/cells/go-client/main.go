// A client of the Go SDK that uses all that a server has, and prints what came of it: `[feature, outcome]` a line.
// The arguments are the server's address and the revision to ask for.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	limit   = 20 * time.Second
	newest  = "2026-07-28"
	watched = "test://watched-resource"
	asks    = "test_input_required_result_elicitation"
)

// What the server says beside its results.
type heard struct {
	logs         chan string
	progress     chan string
	updated      chan struct{}
	tools        chan struct{}
	acknowledged chan struct{}
}

func tell(channel chan struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}

func (h *heard) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			content := map[string]any{}
			schema, _ := req.Params.RequestedSchema.(map[string]any)
			properties, _ := schema["properties"].(map[string]any)
			for name := range properties {
				content[name] = "Ada"
			}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "Paris"}}, nil
		},
		LoggingMessageHandler: func(context.Context, *mcp.LoggingMessageRequest) {
			h.logs <- "log"
		},
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			h.progress <- strconv.FormatFloat(req.Params.Progress, 'f', -1, 64)
		},
		ResourceUpdatedHandler: func(context.Context, *mcp.ResourceUpdatedNotificationRequest) { tell(h.updated) },
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { tell(h.tools) },
	}
}

func connect(ctx context.Context, url, revision string, h *heard, options *mcp.ClientOptions) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1.0.0"}, options)
	if options.ElicitationHandler != nil {
		client.AddRoots(&mcp.Root{URI: "file:///work"})
	}
	client.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "notifications/subscriptions/acknowledged" {
				tell(h.acknowledged)
			}
			return next(ctx, method, req)
		}
	})
	return client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
}

func newHeard() *heard {
	return &heard{
		logs:         make(chan string, 100),
		progress:     make(chan string, 100),
		updated:      make(chan struct{}, 1),
		tools:        make(chan struct{}, 1),
		acknowledged: make(chan struct{}, 1),
	}
}

func failure(err error) string {
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		return fmt.Sprintf("%d: %s", wire.Code, wire.Message)
	}
	return "error: " + err.Error()
}

func text(result *mcp.CallToolResult, err error) (string, error) {
	if err != nil {
		return "", err
	}
	said := []string{}
	for _, part := range result.Content {
		if one, ok := part.(*mcp.TextContent); ok {
			said = append(said, one.Text)
		}
	}
	if result.IsError {
		return "isError: " + strings.Join(said, " "), nil
	}
	return strings.Join(said, " "), nil
}

// The first three. The SDK runs handlers beside the call.
func three(ctx context.Context, channel chan string) (string, error) {
	said := []string{}
	for range 3 {
		select {
		case one := <-channel:
			said = append(said, one)
		case <-ctx.Done():
			return "", fmt.Errorf("only %q came", said)
		}
	}
	return strings.Join(said, " "), nil
}

func awaited(ctx context.Context, channel chan struct{}) error {
	select {
	case <-channel:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func names[T any](list []T, err error, name func(T) string) (string, error) {
	said := []string{}
	for _, one := range list {
		said = append(said, name(one))
	}
	return strings.Join(said, " "), err
}

func main() {
	url, revision := os.Args[1], os.Args[2]
	h := newHeard()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	session, err := connect(ctx, url, revision, h, h.options())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer session.Close()
	isNewer := session.InitializeResult().ProtocolVersion == newest

	call := func(ctx context.Context, name string, args map[string]any, meta mcp.Meta) (string, error) {
		if args == nil {
			args = map[string]any{}
		}
		return text(session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args, Meta: meta}))
	}
	tool := func(name string) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) { return call(ctx, name, nil, nil) }
	}
	read := func(uri string) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			result, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
			if err != nil {
				return "", err
			}
			return result.Contents[0].Text, nil
		}
	}
	prompt := func(name string, args map[string]string) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			result, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: args})
			if err != nil {
				return "", err
			}
			return result.Messages[0].Content.(*mcp.TextContent).Text, nil
		}
	}

	features := []struct {
		name string
		use  func(context.Context) (string, error)
	}{
		{"revision", func(context.Context) (string, error) { return session.InitializeResult().ProtocolVersion, nil }},
		{"list of tools", func(ctx context.Context) (string, error) {
			result, err := session.ListTools(ctx, nil)
			if err != nil {
				return "", err
			}
			return names(result.Tools, nil, func(one *mcp.Tool) string { return one.Name })
		}},
		{"call", tool("test_simple_text")},
		{"error of a tool", tool("test_error_handling")},
		{"list of resources", func(ctx context.Context) (string, error) {
			result, err := session.ListResources(ctx, nil)
			if err != nil {
				return "", err
			}
			return names(result.Resources, nil, func(one *mcp.Resource) string { return one.URI })
		}},
		{"resource", read("test://static-text")},
		{"unknown resource", read("test://none")},
		{"list of templates", func(ctx context.Context) (string, error) {
			result, err := session.ListResourceTemplates(ctx, nil)
			if err != nil {
				return "", err
			}
			return names(result.ResourceTemplates, nil, func(one *mcp.ResourceTemplate) string { return one.URITemplate })
		}},
		{"resource of a template", read("test://template/7/data")},
		{"list of prompts", func(ctx context.Context) (string, error) {
			result, err := session.ListPrompts(ctx, nil)
			if err != nil {
				return "", err
			}
			return names(result.Prompts, nil, func(one *mcp.Prompt) string { return one.Name })
		}},
		{"prompt", prompt("test_prompt_with_arguments", map[string]string{"arg1": "a", "arg2": "b"})},
		{"completion", func(ctx context.Context) (string, error) {
			result, err := session.Complete(ctx, &mcp.CompleteParams{
				Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "test_prompt_with_arguments"},
				Argument: mcp.CompleteParamsArgument{Name: "arg1", Value: "par"},
			})
			if err != nil {
				return "", err
			}
			return strings.Join(result.Completion.Values, " "), nil
		}},
		{"progress", func(ctx context.Context) (string, error) {
			if _, err := call(ctx, "test_tool_with_progress", nil, mcp.Meta{"progressToken": "p1"}); err != nil {
				return "", err
			}
			return three(ctx, h.progress)
		}},
		{"log messages", func(ctx context.Context) (string, error) {
			meta := mcp.Meta{mcp.MetaKeyLogLevel: "info"}
			if !isNewer {
				meta = nil
				if err := session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
					return "", err
				}
			}
			if _, err := call(ctx, "test_tool_with_logging", nil, meta); err != nil {
				return "", err
			}
			return three(ctx, h.logs)
		}},
		{"cancellation", func(ctx context.Context) (string, error) {
			key := strconv.FormatInt(time.Now().UnixNano(), 36)
			doomed, cancel := context.WithCancel(ctx)
			defer cancel()
			go func() {
				select {
				case <-h.progress:
					cancel()
				case <-doomed.Done():
				}
			}()
			call(doomed, "test_wait", map[string]any{"key": key}, mcp.Meta{"progressToken": "p2"})
			return call(ctx, "test_wait_ended", map[string]any{"key": key}, nil)
		}},
		{"elicitation", tool(asks)},
		{"sampling", tool("test_input_required_result_sampling")},
		{"roots", tool("test_input_required_result_list_roots")},
		{"several questions", tool("test_input_required_result_multiple_inputs")},
		{"question of a prompt", prompt("test_input_required_result_prompt", nil)},
		{"question that is not offered", func(ctx context.Context) (string, error) {
			bare, err := connect(ctx, url, revision, newHeard(), &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
			if err != nil {
				return "", err
			}
			defer bare.Close()
			return text(bare.CallTool(ctx, &mcp.CallToolParams{Name: asks}))
		}},
		{"resource updates", func(ctx context.Context) (string, error) {
			// What was said of the list of tools, for which the SDK listens from the start.
			select {
			case <-h.acknowledged:
			default:
			}
			if err := session.Subscribe(ctx, &mcp.SubscribeParams{URI: watched}); err != nil {
				return "", err
			}
			// The SDK does not wait for it.
			if isNewer {
				if err := awaited(ctx, h.acknowledged); err != nil {
					return "", fmt.Errorf("not acknowledged: %w", err)
				}
			}
			if _, err := call(ctx, "test_trigger_resource_change", nil, nil); err != nil {
				return "", err
			}
			return "heard", awaited(ctx, h.updated)
		}},
		{"list changes", func(ctx context.Context) (string, error) {
			if _, err := call(ctx, "test_trigger_tool_change", nil, nil); err != nil {
				return "", err
			}
			return "heard", awaited(ctx, h.tools)
		}},
	}
	for _, feature := range features {
		one, cancel := context.WithTimeout(ctx, limit)
		outcome, err := feature.use(one)
		cancel()
		if err != nil {
			outcome = failure(err)
		}
		line, _ := json.Marshal([]string{feature.name, outcome})
		fmt.Println(string(line))
	}
}
