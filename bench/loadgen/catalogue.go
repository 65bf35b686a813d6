package main

import (
	"encoding/json"
	"fmt"
)

// The catalogues are the same on every run: 5 tools of the harness, and 204 of a made-up business API
// (17 resources, 12 operations each) with the descriptions and schemas that such servers have.

type object = map[string]any

func tool(name, title, description string, properties object, required ...string) object {
	return object{
		"name": name, "title": title, "description": description,
		"inputSchema": object{"type": "object", "properties": properties, "required": append([]string{}, required...)},
	}
}

func text(description string) object { return object{"type": "string", "description": description} }

func choice(description string, values ...string) object {
	return object{"type": "string", "enum": values, "description": description}
}

func smallCatalogue() []object {
	return []object{
		tool("echo", "Echo", "Returns the message it was given.", object{"message": text("What to return")}, "message"),
		tool("big_text", "Big text", "Returns 100 KB of text.", object{"message": text("Not used")}),
		tool("huge_text", "Huge text", "Streams a text of the given length.",
			object{"bytes": object{"type": "integer", "minimum": 0, "description": "Length of the text"}}, "bytes"),
		tool("read_file", "Read file", "Returns the path that it was asked to read.", object{"path": text("What to read")}, "path"),
		tool("write_file", "Write file", "Returns the path that it was asked to write.", object{"path": text("Where to write")}, "path"),
	}
}

var resources = []string{
	"invoice", "customer", "order", "shipment", "product", "supplier", "contract", "employee", "project",
	"ticket", "campaign", "payment", "warehouse", "subscription", "document", "meeting", "report",
}

type operation struct {
	verb, title, description string
	properties               func(resource string) object
	required                 []string
}

var operations = []operation{
	{"list", "List %ss", "Lists the %ss that the caller may see, newest first, one page at a time. Use the cursor of a page to fetch the next one; an answer without a cursor is the last page.", paged, nil},
	{"search", "Search %ss", "Searches %ss by full text over all their fields. Results are ranked by relevance and carry the passages that matched. Prefer list with a filter when the exact attribute is known.", searched, []string{"query"}},
	{"get", "Get %s", "Returns one %s with all its attributes and, on request, its history and the records that refer to it.", single, []string{"id"}},
	{"create", "Create %s", "Creates a %s and returns it with its new identifier. Send an idempotency key when the call may be repeated: the same key returns the record that the first call made.", written, []string{"attributes"}},
	{"update", "Update %s", "Changes the given attributes of a %s and leaves the others as they are. Fails when the record was changed since the given revision.", revised, []string{"id", "attributes"}},
	{"delete", "Delete %s", "Moves a %s to the bin, where it stays for thirty days. Records that others depend on are refused unless cascade is set.", removed, []string{"id"}},
	{"archive", "Archive %s", "Archives a %s: it no longer shows up in lists and searches but can still be read by its identifier and restored later.", single, []string{"id"}},
	{"restore", "Restore %s", "Brings an archived or deleted %s back with all its attributes, unless a record with the same number has been made since.", single, []string{"id"}},
	{"share", "Share %s", "Gives people or teams access to a %s, optionally until a date. Everyone who gains access is told by e-mail unless notify is false.", shared, []string{"id", "recipients"}},
	{"count", "Count %ss", "Counts the %ss that match a filter, in total or by the values of one attribute.", paged, nil},
	{"export", "Export %ss", "Writes the %ss that match a filter to a file and returns a link to it. Large exports run in the background; ask for their state with the returned job identifier.", exported, []string{"format"}},
	{"import", "Import %ss", "Reads %ss from an uploaded file. With dry_run the file is only checked, and the answer lists what would be created, changed or refused and why.", exported, []string{"format"}},
}

func filter(resource string) object {
	return object{
		"type": "object", "description": fmt.Sprintf("Conditions that a %s must meet, all of them", resource),
		"properties": object{
			"status":        object{"type": "array", "items": object{"type": "string", "enum": []string{"draft", "active", "on_hold", "closed"}}, "description": "Any of these states"},
			"created_after": object{"type": "string", "format": "date-time", "description": "Only records made after this moment"},
			"owner":         text("Identifier of the person or team that owns the record"),
		},
		"additionalProperties": false,
	}
}

func identifier(resource string) object {
	return object{"type": "string", "pattern": "^[a-z]{3}_[0-9A-Za-z]{16}$", "description": fmt.Sprintf("Identifier of the %s, as returned by list or search", resource)}
}

func attributes(resource string) object {
	return object{
		"type": "object", "description": fmt.Sprintf("Attributes of the %s; those that are left out keep their value or take the default", resource),
		"properties": object{
			"number":   text("Number shown to people; unique within a year"),
			"title":    object{"type": "string", "maxLength": 200, "description": "Short name shown in lists"},
			"amount":   object{"type": "number", "minimum": 0, "description": "Amount in the account's currency"},
			"due_date": object{"type": "string", "format": "date", "description": "Day by which it must be dealt with"},
			"labels":   object{"type": "array", "items": object{"type": "string"}, "maxItems": 20, "description": "Free labels used for grouping"},
		},
	}
}

func paged(resource string) object {
	return object{
		"filter": filter(resource), "cursor": text("Cursor of the page before"),
		"limit":    object{"type": "integer", "minimum": 1, "maximum": 500, "default": 50, "description": "Records on a page"},
		"order_by": choice("Attribute to sort by", "created", "changed", "number", "amount"),
	}
}

func searched(resource string) object {
	p := paged(resource)
	p["query"] = object{"type": "string", "minLength": 2, "description": "Words to look for; quote a phrase to find it as it stands"}
	return p
}

func single(resource string) object {
	return object{"id": identifier(resource), "expand": object{"type": "array", "items": object{"type": "string", "enum": []string{"history", "references", "attachments"}}, "description": "What to return beside the record"}}
}

func written(resource string) object {
	return object{"attributes": attributes(resource), "idempotency_key": text("Any text that is unique to this intention"), "notify": object{"type": "boolean", "default": true, "description": "Tell the owner"}}
}

func revised(resource string) object {
	p := written(resource)
	p["id"], p["revision"] = identifier(resource), object{"type": "integer", "description": "Revision that the change is based on"}
	return p
}

func removed(resource string) object {
	p := single(resource)
	p["cascade"], p["reason"] = object{"type": "boolean", "default": false, "description": "Delete dependent records too"}, text("Why, for the audit log")
	return p
}

func shared(resource string) object {
	return object{
		"id": identifier(resource), "until": object{"type": "string", "format": "date", "description": "Last day of access"},
		"recipients": object{"type": "array", "minItems": 1, "items": object{"type": "object", "properties": object{"email": object{"type": "string", "format": "email"}, "role": choice("What they may do", "read", "comment", "edit")}, "required": []string{"email"}}, "description": "Who gains access"},
		"notify":     object{"type": "boolean", "default": true, "description": "Tell them by e-mail"},
	}
}

func exported(resource string) object {
	return object{"filter": filter(resource), "format": choice("File format", "csv", "xlsx", "json", "parquet"), "dry_run": object{"type": "boolean", "default": false, "description": "Only check"}, "columns": object{"type": "array", "items": object{"type": "string"}, "description": "Attributes to include, in this order"}}
}

func fullCatalogue() []object {
	var tools []object
	for _, resource := range resources {
		for _, o := range operations {
			tools = append(tools, tool(o.verb+"_"+resource, fmt.Sprintf(o.title, resource), fmt.Sprintf(o.description, resource), o.properties(resource), o.required...))
		}
	}
	return tools
}

// listResult is the result of tools/list. Maps are marshalled with sorted keys, so it never varies.
func listResult(tools []object) []byte {
	b, err := json.Marshal(object{"tools": tools})
	if err != nil {
		panic(err) // only strings, numbers, maps and lists are in it
	}
	return b
}
