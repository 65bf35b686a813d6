// Beside the everything server of the SDK, whose own `main` has another name here: the same server with what it lacks, on a port
// that it prints. With `-stateless=false` it has sessions.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const waitLimit = 20 * time.Second

type keyed struct {
	Key string `json:"key"`
}

var ended sync.Map

func endOf(key string) chan struct{} {
	end, _ := ended.LoadOrStore(key, make(chan struct{}))
	return end.(chan struct{})
}

func text(value string) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: value}}}, nil, nil
}

// Waits until the call is cancelled.
func wait(ctx context.Context, req *mcp.CallToolRequest, in keyed) (*mcp.CallToolResult, any, error) {
	token := req.Params.GetProgressToken()
	req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token})
	select {
	case <-ctx.Done():
		close(endOf(in.Key))
		return nil, nil, ctx.Err()
	case <-time.After(waitLimit):
		return text("nobody has cancelled it")
	}
}

func waitEnded(ctx context.Context, _ *mcp.CallToolRequest, in keyed) (*mcp.CallToolResult, any, error) {
	select {
	case <-endOf(in.Key):
		return text("cancelled")
	case <-time.After(waitLimit / 4):
		return text("still runs")
	}
}

func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	values := []string{}
	for _, word := range []string{"paris", "park", "party"} {
		if strings.HasPrefix(word, req.Params.Argument.Value) {
			values = append(values, word)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values}}, nil
}

func main() {
	flag.Parse()
	server := mcp.NewServer(&mcp.Implementation{Name: "go-everything", Version: "1.0.0"}, &mcp.ServerOptions{
		CompletionHandler:  complete,
		SubscribeHandler:   subscribeHandler,
		UnsubscribeHandler: unsubscribeHandler,
	})
	registerTools(server)
	registerResources(server)
	registerPrompts(server)
	mcp.AddTool(server, &mcp.Tool{Name: "test_wait"}, wait)
	mcp.AddTool(server, &mcp.Tool{Name: "test_wait_ended"}, waitEnded)
	changed := func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: watchedResourceURI})
		return text("announced")
	}
	mcp.AddTool(server, &mcp.Tool{Name: "test_trigger_resource_change"}, changed)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: *stateless,
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("{\"port\":%d}\n", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, handler))
}
