"""The names and types in the messages of all five revisions, made by `tools/shapes.py`.

A row without indentation is a definition: an object, whose members follow, or what is behind `=`.
`?` marks a member that may be missing, `[]` a list, `{}` an object with members of a type, `|` one
of several. `since`, `until` and `in` name the first, the last and the only revision that has it.
"""

ROWS = """\
Annotations
    audience? Role[]
    priority? number(0..1)
    lastModified? string since 2025-06-18
AudioContent since 2025-03-26
    annotations? Annotations
    data string
    mimeType string
    type "audio"
    _meta? object since 2025-06-18
BlobResourceContents
    blob string
    mimeType? string
    uri string
    _meta? object since 2025-06-18
BooleanSchema since 2025-06-18
    default? boolean
    description? string
    title? string
    type "boolean"
CallToolRequest
    method "tools/call"
    params CallToolRequest.params
CallToolRequest.params
    arguments? object
    name string
    _meta? RequestMetaObject in 2025-11-25
    _meta RequestMetaObject since 2026-07-28
    task? TaskMetadata in 2025-11-25
    inputResponses? InputResponses since 2026-07-28
    requestState? string since 2026-07-28
CallToolResult
    _meta? object until 2025-11-25
    _meta? ResultMetaObject since 2026-07-28
    content (TextContent|ImageContent|EmbeddedResource)[] until 2024-11-05
    content (TextContent|ImageContent|AudioContent|EmbeddedResource)[] in 2025-03-26
    content ContentBlock[] since 2025-06-18
    isError? boolean
    structuredContent? object since 2025-06-18 until 2025-11-25
    structuredContent? any since 2026-07-28
    resultType string since 2026-07-28
CancelTaskRequest in 2025-11-25
    method "tasks/cancel"
    params CancelTaskRequest.params
CancelTaskRequest.params in 2025-11-25
    taskId string
CancelTaskResult in 2025-11-25
    _meta? object
    createdAt string
    lastUpdatedAt string
    pollInterval? number
    status TaskStatus
    statusMessage? string
    taskId string
    ttl number|null
CancelledNotification
    method "notifications/cancelled"
    params CancelledNotification.params
CancelledNotification.params
    reason? string
    requestId RequestId until 2025-06-18
    requestId? RequestId in 2025-11-25
    requestId RequestId since 2026-07-28
    _meta? object in 2025-11-25
    _meta? NotificationMetaObject since 2026-07-28
ClientCapabilities
    experimental? {object}
    roots? ClientCapabilities.roots until 2025-11-25
    roots? object since 2026-07-28
    sampling? object until 2025-06-18
    sampling? ClientCapabilities.sampling since 2025-11-25
    elicitation? object in 2025-06-18
    elicitation? ClientCapabilities.elicitation since 2025-11-25
    tasks? ClientCapabilities.tasks in 2025-11-25
    extensions? {object} since 2026-07-28
ClientCapabilities.elicitation since 2025-11-25
    form? object
    url? object
ClientCapabilities.roots until 2025-11-25
    listChanged? boolean
ClientCapabilities.sampling since 2025-11-25
    context? object
    tools? object
ClientCapabilities.tasks in 2025-11-25
    cancel? object
    list? object
    requests? ClientCapabilities.tasks.requests
ClientCapabilities.tasks.requests in 2025-11-25
    elicitation? ClientCapabilities.tasks.requests.elicitation
    sampling? ClientCapabilities.tasks.requests.sampling
ClientCapabilities.tasks.requests.elicitation in 2025-11-25
    create? object
ClientCapabilities.tasks.requests.sampling in 2025-11-25
    createMessage? object
CompleteRequest
    method "completion/complete"
    params CompleteRequest.params
CompleteRequest.params
    argument CompleteRequest.params.argument
    ref PromptReference|ResourceReference until 2025-03-26
    ref PromptReference|ResourceTemplateReference since 2025-06-18
    context? CompleteRequest.params.context since 2025-06-18
    _meta? RequestMetaObject in 2025-11-25
    _meta RequestMetaObject since 2026-07-28
CompleteRequest.params.argument
    name string
    value string
CompleteRequest.params.context since 2025-06-18
    arguments? {string}
CompleteResult
    _meta? object until 2025-11-25
    _meta? ResultMetaObject since 2026-07-28
    completion CompleteResult.completion
    resultType string since 2026-07-28
CompleteResult.completion
    hasMore? boolean
    total? number
    values string[] until 2025-11-25
    values string[..100] since 2026-07-28
ContentBlock = TextContent|ImageContent|AudioContent|ResourceLink|EmbeddedResource since 2025-06-18
CreateMessageRequest
    method "sampling/createMessage"
    params CreateMessageRequest.params
CreateMessageRequest.params
    includeContext? "allServers"|"none"|"thisServer"
    maxTokens number
    messages SamplingMessage[]
    metadata? object
    modelPreferences? ModelPreferences
    stopSequences? string[]
    systemPrompt? string
    temperature? number
    _meta? CreateMessageRequest.params._meta in 2025-11-25
    task? TaskMetadata in 2025-11-25
    toolChoice? ToolChoice since 2025-11-25
    tools? Tool[] since 2025-11-25
CreateMessageRequest.params._meta in 2025-11-25
    progressToken? ProgressToken
CreateMessageResult
    _meta? object
    content TextContent|ImageContent until 2024-11-05
    content TextContent|ImageContent|AudioContent since 2025-03-26 until 2025-06-18
    content TextContent|ImageContent|AudioContent|ToolUseContent|ToolResultContent|SamplingMessageContentBlock[] since 2025-11-25
    model string
    role Role
    stopReason? string
CreateTaskResult in 2025-11-25
    _meta? object
    task Task
DiscoverRequest since 2026-07-28
    method "server/discover"
    params RequestParams
DiscoverResult since 2026-07-28
    _meta? ResultMetaObject
    cacheScope "private"|"public"
    capabilities ServerCapabilities
    instructions? string
    resultType string
    supportedVersions string[]
    ttlMs number(0..)
ElicitRequest since 2025-06-18
    method "elicitation/create"
    params ElicitRequestFormParams until 2025-06-18
    params ElicitRequest.params since 2025-11-25
ElicitRequest.params = ElicitRequestURLParams|ElicitRequestFormParams in 2025-11-25
ElicitRequest.params = ElicitRequestFormParams|ElicitRequestURLParams since 2026-07-28
ElicitRequestFormParams since 2025-06-18
    message string
    requestedSchema ElicitRequestFormParams.requestedSchema
    _meta? ElicitRequestFormParams._meta in 2025-11-25
    mode? "form" since 2025-11-25
    task? TaskMetadata in 2025-11-25
ElicitRequestFormParams._meta in 2025-11-25
    progressToken? ProgressToken
ElicitRequestFormParams.requestedSchema since 2025-06-18
    properties {PrimitiveSchemaDefinition}
    required? string[]
    type "object"
    $schema? string since 2025-11-25
ElicitRequestURLParams since 2025-11-25
    _meta? ElicitRequestURLParams._meta until 2025-11-25
    elicitationId string until 2025-11-25
    message string
    mode "url"
    task? TaskMetadata until 2025-11-25
    url string
ElicitRequestURLParams._meta in 2025-11-25
    progressToken? ProgressToken
ElicitResult since 2025-06-18
    _meta? object until 2025-11-25
    action "accept"|"cancel"|"decline"
    content? {string|number|boolean} until 2025-06-18
    content? {string[]|string|number|boolean} since 2025-11-25
ElicitationCompleteNotification in 2025-11-25
    method "notifications/elicitation/complete"
    params ElicitationCompleteNotification.params
ElicitationCompleteNotification.params in 2025-11-25
    elicitationId string
EmbeddedResource
    annotations? Annotations
    resource TextResourceContents|BlobResourceContents
    type "resource"
    _meta? object since 2025-06-18
EnumSchema in 2025-06-18
    description? string
    enum string[]
    enumNames? string[]
    title? string
    type "string"
Error since 2025-11-25
    code integer
    data? any
    message string
GetPromptRequest
    method "prompts/get"
    params GetPromptRequest.params
GetPromptRequest.params
    arguments? {string}
    name string
    _meta? RequestMetaObject in 2025-11-25
    _meta RequestMetaObject since 2026-07-28
    inputResponses? InputResponses since 2026-07-28
    requestState? string since 2026-07-28
GetPromptResult
    _meta? object until 2025-11-25
    _meta? ResultMetaObject since 2026-07-28
    description? string
    messages PromptMessage[]
    resultType string since 2026-07-28
GetTaskPayloadRequest in 2025-11-25
    method "tasks/result"
    params GetTaskPayloadRequest.params
GetTaskPayloadRequest.params in 2025-11-25
    taskId string
GetTaskPayloadResult in 2025-11-25
    _meta? object
GetTaskRequest in 2025-11-25
    method "tasks/get"
    params GetTaskRequest.params
GetTaskRequest.params in 2025-11-25
    taskId string
GetTaskResult in 2025-11-25
    _meta? object
    createdAt string
    lastUpdatedAt string
    pollInterval? number
    status TaskStatus
    statusMessage? string
    taskId string
    ttl number|null
HeaderMismatchError since 2026-07-28
    error HeaderMismatchError.error
HeaderMismatchError.error since 2026-07-28
    code -32020
    data? any
    message string
Icon since 2025-11-25
    mimeType? string
    sizes? string[]
    src string
    theme? "dark"|"light"
ImageContent
    annotations? Annotations
    data string
    mimeType string
    type "image"
    _meta? object since 2025-06-18
Implementation
    name string
    version string
    title? string since 2025-06-18
    description? string since 2025-11-25
    icons? Icon[] since 2025-11-25
    websiteUrl? string since 2025-11-25
InitializeRequest until 2025-11-25
    method "initialize"
    params InitializeRequest.params
InitializeRequest.params until 2025-11-25
    capabilities ClientCapabilities
    clientInfo Implementation
    protocolVersion string
    _meta? InitializeRequest.params._meta since 2025-11-25
InitializeRequest.params._meta in 2025-11-25
    progressToken? ProgressToken
InitializeResult until 2025-11-25
    _meta? object
    capabilities ServerCapabilities
    instructions? string
    protocolVersion string
    serverInfo Implementation
InitializedNotification until 2025-11-25
    method "notifications/initialized"
    params? NotificationParams
InputRequest = CreateMessageRequest|ListRootsRequest|ElicitRequest since 2026-07-28
InputRequests = {InputRequest} since 2026-07-28
InputRequiredResult since 2026-07-28
    _meta? ResultMetaObject
    inputRequests? InputRequests
    requestState? string
    resultType string
InputResponse = CreateMessageResult|ListRootsResult|ElicitResult since 2026-07-28
InputResponses = {InputResponse} since 2026-07-28
JSONRPCError until 2025-06-18
    error JSONRPCError.error
JSONRPCError.error until 2025-06-18
    code integer
    data? any
    message string
LegacyTitledEnumSchema since 2025-11-25
    default? string
    description? string
    enum string[]
    enumNames? string[]
    title? string
    type "string"
ListPromptsRequest
    method "prompts/list"
    params? PaginatedRequestParams until 2025-11-25
    params PaginatedRequestParams since 2026-07-28
ListPromptsResult
    _meta? object until 2025-11-25
    _meta? ResultMetaObject since 2026-07-28
    nextCursor? string
    prompts Prompt[]
    cacheScope "private"|"public" since 2026-07-28
    resultType string since 2026-07-28
    ttlMs number(0..) since 2026-07-28
ListResourceTemplatesRequest
    method "resources/templates/list"
    params? PaginatedRequestParams until 2025-11-25
    params PaginatedRequestParams since 2026-07-28
ListResourceTemplatesResult
    _meta? object until 2025-11-25
    _meta? ResultMetaObject since 2026-07-28
    nextCursor? string
    resourceTemplates ResourceTemplate[]
    cacheScope "private"|"public" since 2026-07-28
    resultType string since 2026-07-28
    ttlMs number(0..) since 2026-07-28
ListResourcesRequest
    method "resources/list"
    params? PaginatedRequestParams until 2025-11-25
    params PaginatedRequestParams since 2026-07-28
ListResourcesResult
    _meta? object until 2025-11-25
    _meta? ResultMetaObject since 2026-07-28
    nextCursor? string
    resources Resource[]
    cacheScope "private"|"public" since 2026-07-28
    resultType string since 2026-07-28
    ttlMs number(0..) since 2026-07-28
ListRootsRequest
    method "roots/list"
    params? RequestParams until 2025-11-25
    params? ListRootsRequest.params since 2026-07-28
ListRootsRequest.params since 2026-07-28
    _meta? object
ListRootsResult
    _meta? object until 2025-11-25
    roots Root[]
ListTasksRequest in 2025-11-25
    method "tasks/list"
    params? PaginatedRequestParams
ListTasksResult in 2025-11-25
    _meta? object
    nextCursor? string
    tasks Task[]
ListToolsRequest
    method "tools/list"
    params? PaginatedRequestParams until 2025-11-25
    params PaginatedRequestParams since 2026-07-28
ListToolsResult
    _meta? object until 2025-11-25
    _meta? ResultMetaObject since 2026-07-28
    nextCursor? string
    tools Tool[]
    cacheScope "private"|"public" since 2026-07-28
    resultType string since 2026-07-28
    ttlMs number(0..) since 2026-07-28
LoggingLevel = "alert"|"critical"|"debug"|"emergency"|"error"|"info"|"notice"|"warning"
LoggingMessageNotification
    method "notifications/message"
    params LoggingMessageNotification.params
LoggingMessageNotification.params
    data any
    level LoggingLevel
    logger? string
    _meta? object in 2025-11-25
    _meta? NotificationMetaObject since 2026-07-28
MissingRequiredClientCapabilityError since 2026-07-28
    error MissingRequiredClientCapabilityError.error
MissingRequiredClientCapabilityError.error since 2026-07-28
    code -32021
    data MissingRequiredClientCapabilityError.error.data
    message string
MissingRequiredClientCapabilityError.error.data since 2026-07-28
    requiredCapabilities ClientCapabilities
ModelHint
    name? string
ModelPreferences
    costPriority? number(0..1)
    hints? ModelHint[]
    intelligencePriority? number(0..1)
    speedPriority? number(0..1)
NotificationMetaObject since 2026-07-28
    io.modelcontextprotocol/subscriptionId? RequestId
NotificationParams
    _meta? object until 2025-11-25
    _meta? NotificationMetaObject since 2026-07-28
NumberSchema since 2025-06-18
    description? string
    maximum? number
    minimum? number
    title? string
    type "integer"|"number"
    default? number since 2025-11-25
PaginatedRequestParams
    cursor? string
    _meta? RequestMetaObject in 2025-11-25
    _meta RequestMetaObject since 2026-07-28
PingRequest until 2025-11-25
    method "ping"
    params? RequestParams
PrimitiveSchemaDefinition = StringSchema|NumberSchema|BooleanSchema|EnumSchema in 2025-06-18
PrimitiveSchemaDefinition = StringSchema|NumberSchema|BooleanSchema|UntitledSingleSelectEnumSchema|TitledSingleSelectEnumSchema|UntitledMultiSelectEnumSchema|TitledMultiSelectEnumSchema|LegacyTitledEnumSchema since 2025-11-25
ProgressNotification
    method "notifications/progress"
    params ProgressNotification.params
ProgressNotification.params
    progress number
    progressToken ProgressToken
    total? number
    message? string since 2025-03-26
    _meta? object in 2025-11-25
    _meta? NotificationMetaObject since 2026-07-28
ProgressToken = string|integer
Prompt
    arguments? PromptArgument[]
    description? string
    name string
    _meta? object since 2025-06-18
    title? string since 2025-06-18
    icons? Icon[] since 2025-11-25
PromptArgument
    description? string
    name string
    required? boolean
    title? string since 2025-06-18
PromptListChangedNotification
    method "notifications/prompts/list_changed"
    params? NotificationParams
PromptMessage
    content TextContent|ImageContent|EmbeddedResource until 2024-11-05
    content TextContent|ImageContent|AudioContent|EmbeddedResource in 2025-03-26
    content ContentBlock since 2025-06-18
    role Role
PromptReference
    name string
    type "ref/prompt"
    title? string since 2025-06-18
ReadResourceRequest
    method "resources/read"
    params ReadResourceRequest.params
ReadResourceRequest.params
    uri string
    _meta? RequestMetaObject in 2025-11-25
    _meta RequestMetaObject since 2026-07-28
    inputResponses? InputResponses since 2026-07-28
    requestState? string since 2026-07-28
ReadResourceResult
    _meta? object until 2025-11-25
    _meta? ResultMetaObject since 2026-07-28
    contents (TextResourceContents|BlobResourceContents)[]
    cacheScope "private"|"public" since 2026-07-28
    resultType string since 2026-07-28
    ttlMs number(0..) since 2026-07-28
RequestId = string|integer
RequestMetaObject
    progressToken? ProgressToken
    io.modelcontextprotocol/clientCapabilities ClientCapabilities since 2026-07-28
    io.modelcontextprotocol/clientInfo? Implementation since 2026-07-28
    io.modelcontextprotocol/logLevel? LoggingLevel since 2026-07-28
    io.modelcontextprotocol/protocolVersion string since 2026-07-28
RequestParams
    _meta? RequestMetaObject until 2025-11-25
    _meta RequestMetaObject since 2026-07-28
Resource
    annotations? Annotations
    description? string
    mimeType? string
    name string
    size? number
    uri string
    _meta? object since 2025-06-18
    title? string since 2025-06-18
    icons? Icon[] since 2025-11-25
ResourceLink since 2025-06-18
    _meta? object
    annotations? Annotations
    description? string
    mimeType? string
    name string
    size? number
    title? string
    type "resource_link"
    uri string
    icons? Icon[] since 2025-11-25
ResourceListChangedNotification
    method "notifications/resources/list_changed"
    params? NotificationParams
ResourceReference until 2025-03-26
    type "ref/resource"
    uri string
ResourceTemplate
    annotations? Annotations
    description? string
    mimeType? string
    name string
    uriTemplate string
    _meta? object since 2025-06-18
    title? string since 2025-06-18
    icons? Icon[] since 2025-11-25
ResourceTemplateReference since 2025-06-18
    type "ref/resource"
    uri string
ResourceUpdatedNotification
    method "notifications/resources/updated"
    params ResourceUpdatedNotification.params
ResourceUpdatedNotification.params
    uri string
    _meta? object in 2025-11-25
    _meta? NotificationMetaObject since 2026-07-28
Result
    _meta? object until 2025-11-25
    _meta? ResultMetaObject since 2026-07-28
    resultType string since 2026-07-28
ResultMetaObject since 2026-07-28
    io.modelcontextprotocol/serverInfo? Implementation
Role = "assistant"|"user"
Root
    name? string
    uri string
    _meta? object since 2025-06-18
RootsListChangedNotification until 2025-11-25
    method "notifications/roots/list_changed"
    params? NotificationParams
SamplingMessage
    content TextContent|ImageContent until 2024-11-05
    content TextContent|ImageContent|AudioContent since 2025-03-26 until 2025-06-18
    content TextContent|ImageContent|AudioContent|ToolUseContent|ToolResultContent|SamplingMessageContentBlock[] since 2025-11-25
    role Role
    _meta? object since 2025-11-25
SamplingMessageContentBlock = TextContent|ImageContent|AudioContent|ToolUseContent|ToolResultContent since 2025-11-25
ServerCapabilities
    experimental? {object}
    logging? object
    prompts? ServerCapabilities.prompts
    resources? ServerCapabilities.resources
    tools? ServerCapabilities.tools
    completions? object since 2025-03-26
    tasks? ServerCapabilities.tasks in 2025-11-25
    extensions? {object} since 2026-07-28
ServerCapabilities.prompts
    listChanged? boolean
ServerCapabilities.resources
    listChanged? boolean
    subscribe? boolean
ServerCapabilities.tasks in 2025-11-25
    cancel? object
    list? object
    requests? ServerCapabilities.tasks.requests
ServerCapabilities.tasks.requests in 2025-11-25
    tools? ServerCapabilities.tasks.requests.tools
ServerCapabilities.tasks.requests.tools in 2025-11-25
    call? object
ServerCapabilities.tools
    listChanged? boolean
SetLevelRequest until 2025-11-25
    method "logging/setLevel"
    params SetLevelRequest.params
SetLevelRequest.params until 2025-11-25
    level LoggingLevel
    _meta? SetLevelRequest.params._meta since 2025-11-25
SetLevelRequest.params._meta in 2025-11-25
    progressToken? ProgressToken
StringSchema since 2025-06-18
    description? string
    format? "date"|"date-time"|"email"|"uri"
    maxLength? number
    minLength? number
    title? string
    type "string"
    default? string since 2025-11-25
SubscribeRequest until 2025-11-25
    method "resources/subscribe"
    params SubscribeRequest.params
SubscribeRequest.params until 2025-11-25
    uri string
    _meta? SubscribeRequest.params._meta since 2025-11-25
SubscribeRequest.params._meta in 2025-11-25
    progressToken? ProgressToken
SubscriptionFilter since 2026-07-28
    promptsListChanged? boolean
    resourceSubscriptions? string[]
    resourcesListChanged? boolean
    toolsListChanged? boolean
SubscriptionsAcknowledgedNotification since 2026-07-28
    method "notifications/subscriptions/acknowledged"
    params SubscriptionsAcknowledgedNotification.params
SubscriptionsAcknowledgedNotification.params since 2026-07-28
    _meta? NotificationMetaObject
    notifications SubscriptionFilter
SubscriptionsListenRequest since 2026-07-28
    method "subscriptions/listen"
    params SubscriptionsListenRequest.params
SubscriptionsListenRequest.params since 2026-07-28
    _meta RequestMetaObject
    notifications SubscriptionFilter
SubscriptionsListenResult since 2026-07-28
    _meta SubscriptionsListenResultMetaObject
    resultType string
SubscriptionsListenResultMetaObject since 2026-07-28
    io.modelcontextprotocol/serverInfo? Implementation
    io.modelcontextprotocol/subscriptionId RequestId
Task in 2025-11-25
    createdAt string
    lastUpdatedAt string
    pollInterval? number
    status TaskStatus
    statusMessage? string
    taskId string
    ttl number|null
TaskMetadata in 2025-11-25
    ttl? number
TaskStatus = "cancelled"|"completed"|"failed"|"input_required"|"working" in 2025-11-25
TaskStatusNotification in 2025-11-25
    method "notifications/tasks/status"
    params TaskStatusNotification.params
TaskStatusNotification.params in 2025-11-25
    _meta? object
    createdAt string
    lastUpdatedAt string
    pollInterval? number
    status TaskStatus
    statusMessage? string
    taskId string
    ttl number|null
TextContent
    annotations? Annotations
    text string
    type "text"
    _meta? object since 2025-06-18
TextResourceContents
    mimeType? string
    text string
    uri string
    _meta? object since 2025-06-18
TitledMultiSelectEnumSchema since 2025-11-25
    default? string[]
    description? string
    items TitledMultiSelectEnumSchema.items
    maxItems? number
    minItems? number
    title? string
    type "array"
TitledMultiSelectEnumSchema.items since 2025-11-25
    anyOf TitledMultiSelectEnumSchema.items.anyOf[]
TitledMultiSelectEnumSchema.items.anyOf since 2025-11-25
    const string
    title string
TitledSingleSelectEnumSchema since 2025-11-25
    default? string
    description? string
    oneOf TitledSingleSelectEnumSchema.oneOf[]
    title? string
    type "string"
TitledSingleSelectEnumSchema.oneOf since 2025-11-25
    const string
    title string
Tool
    description? string
    inputSchema Tool.inputSchema
    name string
    annotations? ToolAnnotations since 2025-03-26
    _meta? object since 2025-06-18
    outputSchema? Tool.outputSchema since 2025-06-18
    title? string since 2025-06-18
    execution? ToolExecution in 2025-11-25
    icons? Icon[] since 2025-11-25
Tool.inputSchema
    properties? {object} until 2025-11-25
    required? string[] until 2025-11-25
    type "object"
    $schema? string since 2025-11-25
Tool.outputSchema since 2025-06-18
    properties? {object} until 2025-11-25
    required? string[] until 2025-11-25
    type "object" until 2025-11-25
    $schema? string since 2025-11-25
ToolAnnotations since 2025-03-26
    destructiveHint? boolean
    idempotentHint? boolean
    openWorldHint? boolean
    readOnlyHint? boolean
    title? string
ToolChoice since 2025-11-25
    mode? "auto"|"none"|"required"
ToolExecution in 2025-11-25
    taskSupport? "forbidden"|"optional"|"required"
ToolListChangedNotification
    method "notifications/tools/list_changed"
    params? NotificationParams
ToolResultContent since 2025-11-25
    _meta? object
    content ContentBlock[]
    isError? boolean
    structuredContent? object until 2025-11-25
    structuredContent? any since 2026-07-28
    toolUseId string
    type "tool_result"
ToolUseContent since 2025-11-25
    _meta? object
    id string
    input object
    name string
    type "tool_use"
URLElicitationRequiredError in 2025-11-25
    error URLElicitationRequiredError.error
URLElicitationRequiredError.error in 2025-11-25
    code -32042
    data URLElicitationRequiredError.error.data
    message string
URLElicitationRequiredError.error.data in 2025-11-25
    elicitations ElicitRequestURLParams[]
UnsubscribeRequest until 2025-11-25
    method "resources/unsubscribe"
    params UnsubscribeRequest.params
UnsubscribeRequest.params until 2025-11-25
    uri string
    _meta? UnsubscribeRequest.params._meta since 2025-11-25
UnsubscribeRequest.params._meta in 2025-11-25
    progressToken? ProgressToken
UnsupportedProtocolVersionError since 2026-07-28
    error UnsupportedProtocolVersionError.error
UnsupportedProtocolVersionError.error since 2026-07-28
    code -32022
    data UnsupportedProtocolVersionError.error.data
    message string
UnsupportedProtocolVersionError.error.data since 2026-07-28
    requested string
    supported string[]
UntitledMultiSelectEnumSchema since 2025-11-25
    default? string[]
    description? string
    items UntitledMultiSelectEnumSchema.items
    maxItems? number
    minItems? number
    title? string
    type "array"
UntitledMultiSelectEnumSchema.items since 2025-11-25
    enum string[]
    type "string"
UntitledSingleSelectEnumSchema since 2025-11-25
    default? string
    description? string
    enum string[]
    title? string
    type "string"
"""
