// Lists the tools of a server twice in a session for each form, which is the version of the client, and prints what it saw.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func seen(url string, form int) [][]string {
	listed := [][]string{}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "hostile", Version: strconv.Itoa(form)}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1}, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, form, err)
		return listed
	}
	defer session.Close()
	for range 2 {
		one, cancel := context.WithTimeout(ctx, 8*time.Second)
		result, err := session.ListTools(one, nil)
		cancel()
		if err != nil {
			fmt.Fprintln(os.Stderr, form, err)
			return listed
		}
		for _, tool := range result.Tools {
			listed = append(listed, []string{tool.Name, tool.Description})
		}
	}
	return listed
}

func main() {
	forms, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	for form := range forms {
		line, _ := json.Marshal(map[string]any{"form": form, "seen": seen(os.Args[1], form)})
		fmt.Println(string(line))
	}
}
