// Command promql-names tells which series PromQL expressions read, as Prometheus' own parser understands them. It reads
// a JSON list of expressions from standard input and writes a JSON list with an answer for each.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/prometheus/prometheus/promql/parser"
)

type selector struct {
	// Operator and value of the matcher of the metric's name.
	Match  string   `json:"match"`
	Metric string   `json:"metric"`
	Labels []string `json:"labels"`
}

// Labels that an aggregation or a match between two sides names, with the series that they are labels of.
type use struct {
	Labels    []string   `json:"labels"`
	Selectors []selector `json:"selectors"`
}

type answer struct {
	Error     string     `json:"error,omitempty"`
	Selectors []selector `json:"selectors"`
	Uses      []use      `json:"uses"`
}

func main() {
	var expressions []string
	if err := json.NewDecoder(os.Stdin).Decode(&expressions); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	answers := make([]answer, 0, len(expressions))
	for _, text := range expressions {
		answers = append(answers, read(text))
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		os.Exit(1)
	}
}

func read(text string) answer {
	found := answer{Selectors: []selector{}, Uses: []use{}}
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		found.Error = err.Error()
		return found
	}
	found.Selectors = selectorsIn(expression)
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.AggregateExpr:
			found.Uses = append(found.Uses, use{Labels: node.Grouping, Selectors: selectorsIn(node.Expr)})
		case *parser.BinaryExpr:
			if matching := node.VectorMatching; matching != nil {
				labels := append(append([]string{}, matching.MatchingLabels...), matching.Include...)
				found.Uses = append(found.Uses, use{Labels: labels, Selectors: selectorsIn(node)})
			}
		}
		return nil
	})
	return found
}

func selectorsIn(node parser.Node) []selector {
	found := []selector{}
	parser.Inspect(node, func(node parser.Node, _ []parser.Node) error {
		vector, isVector := node.(*parser.VectorSelector)
		if !isVector {
			return nil
		}
		one := selector{Labels: []string{}}
		for _, matcher := range vector.LabelMatchers {
			if matcher.Name == "__name__" {
				one.Match, one.Metric = matcher.Type.String(), matcher.Value
			} else {
				one.Labels = append(one.Labels, matcher.Name)
			}
		}
		found = append(found, one)
		return nil
	})
	return found
}
