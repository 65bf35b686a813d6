{{/*
ValidatingAdmissionPolicies ask the API server whether whoever writes a resource may do what the operator will do for it.
A policy may spend 10 million units of CEL, an expression 1 million, and each question to the authorizer costs 350,000.
*/}}

{{/* Head of a policy, up to its variables. Arguments: root, name. */}}
{{- define "mcp-operator.policy" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ include "mcp-operator.clusterName" .root }}-{{ .name }}
  labels:
    {{- include "mcp-operator.labels" .root | nindent 4 }}
spec:
  failurePolicy: Fail
  # Defaults are written out, so that GitOps tools see no drift.
  matchConstraints:
    matchPolicy: Equivalent
    namespaceSelector: {}
    objectSelector: {}
    resourceRules:
      - apiGroups: [mcpadapter.io]
        apiVersions: ['*']
        operations: [CREATE, UPDATE]
        resources: [mcpadapters, apiscrapesources]
        scope: '*'
  matchConditions:
    # Metadata, finalizers and the status are everybody's who may write them. A change of the spec takes the rights for
    # all that it then holds: with a new URL, somebody else's Secret goes there.
    - name: the-spec-is-new
      expression: request.operation == 'CREATE' || object.spec != oldObject.spec
  variables:
    - name: spec
      expression: dyn(object.spec)
    # Nothing is known about it but that it is an object.
    - name: overlay
      expression: >-
        has(variables.spec.podOverlay) && has(variables.spec.podOverlay.spec) ? variables.spec.podOverlay.spec : dyn({})
    - name: containers
      expression: >-
        (has(variables.overlay.containers) && type(variables.overlay.containers) == list ? variables.overlay.containers : dyn([]))
        + (has(variables.overlay.initContainers) && type(variables.overlay.initContainers) == list ? variables.overlay.initContainers : dyn([]))
    - name: volumes
      expression: >-
        has(variables.overlay.volumes) && type(variables.overlay.volumes) == list ? variables.overlay.volumes : dyn([])
    # Lists of lists: of the resource, and of each container of the overlay.
    - name: envs
      expression: >-
        [has(variables.spec.env) ? variables.spec.env : dyn([])]
        + variables.containers.filter(c, has(c.env) && type(c.env) == list).map(c, c.env)
    - name: envFroms
      expression: >-
        [has(variables.spec.envFrom) ? variables.spec.envFrom : dyn([])]
        + variables.containers.filter(c, has(c.envFrom) && type(c.envFrom) == list).map(c, c.envFrom)
{{- end -}}

{{/* What puts a policy into force. Arguments: root, name. */}}
{{- define "mcp-operator.policyBinding" -}}
{{- $namespaces := include "mcp-operator.namespaces" .root | fromJsonArray -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ include "mcp-operator.clusterName" .root }}-{{ .name }}
  labels:
    {{- include "mcp-operator.labels" .root | nindent 4 }}
spec:
  policyName: {{ include "mcp-operator.clusterName" .root }}-{{ .name }}
  validationActions: [Deny]
  {{- with $namespaces }}
  matchResources:
    matchPolicy: Equivalent
    objectSelector: {}
    namespaceSelector:
      matchExpressions:
        - key: kubernetes.io/metadata.name
          operator: In
          values:
            {{- toYaml . | nindent 12 }}
  {{- end }}
{{- end -}}

{{/*
A policy that asks for each name in lists of names. CEL cannot tell doubles, so the names are taken off one by one:
`names1` is `names0` without its first name wherever that stands, and so on. Arguments: root, name, many, names0 (an
expression), texts (a variable that it reads, if it does), all (a question that, answered with yes, makes the others needless), one (the question for `NAME`), missing
(what the refusal says; an expression), beyond (the same where there are too many names).
*/}}
{{- define "mcp-operator.namesPolicy" -}}
{{- $ := . }}
{{- $many := int .many }}
{{ include "mcp-operator.policy" . }}
    - name: all
      expression: {{ .all }}
    {{- with .texts }}
    - name: texts
      expression: >-
        {{- . | nindent 8 }}
    {{- end }}
    - name: names0
      expression: >-
        {{- .names0 | nindent 8 }}
    {{- range $i := until $many }}
    - name: names{{ add1 $i }}
      expression: variables.names{{ $i }}.map(l, l.filter(n, n != variables.names{{ $i }}[0][0])).filter(l, l.size() > 0)
    {{- end }}
  validations:
    {{- range $i := until $many }}
    {{- $name := printf "variables.names%d[0][0]" $i }}
    - expression: >-
        variables.names{{ $i }}.size() == 0 || variables.all
        || {{ $.one | replace "NAME" $name }}
      messageExpression: >-
        {{ $.missing | replace "NAME" $name }}
      reason: Forbidden
    {{- end }}
    - expression: variables.names{{ $many }}.size() == 0 || variables.all
      messageExpression: >-
        {{ .beyond }}
      reason: Forbidden
---
{{ include "mcp-operator.policyBinding" . }}
{{- end -}}

{{/* The text at a path of the spec as a list of one, or an empty list: nothing on the way may be taken for granted. */}}
{{- define "mcp-operator.textAt" -}}
{{- $at := "variables.spec" -}}
{{- $conditions := list -}}
{{- range splitList "." . -}}
{{- $conditions = append $conditions (printf "type(%s) == map && has(%s.%s)" $at $at .) -}}
{{- $at = printf "%s.%s" $at . -}}
{{- end -}}
({{ join " && " $conditions }} && type({{ $at }}) == string ? [{{ $at }}] : dyn([]))
{{- end -}}
