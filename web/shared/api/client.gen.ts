// Generated from api/client.yaml by npm run generate.

export interface paths {
    "/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the project's agents */
        get: operations["listAgents"];
        put?: never;
        /**
         * Create an agent
         * @description It has a draft only, until it is published.
         */
        post: operations["createAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: components["parameters"]["AgentKey"];
            };
            cookie?: never;
        };
        /** Read an agent */
        get: operations["getAgent"];
        put?: never;
        post?: never;
        /**
         * Delete an agent
         * @description Deleting one that is not there is no error. Its conversations stay.
         */
        delete: operations["deleteAgent"];
        options?: never;
        head?: never;
        /**
         * Change an agent's name, status or draft
         * @description `config` is a JSON Merge Patch (RFC 7396) of the draft: fields that are not named
         *     stay, null clears, arrays are replaced whole.
         */
        patch: operations["updateAgent"];
        trace?: never;
    };
    "/agents/{key}/publish": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: components["parameters"]["AgentKey"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Publish the draft as a new version */
        post: operations["publishAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/responses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask an agent's published version
         * @description As `POST /responses`, but without `version` the published version runs.
         */
        post: operations["createAgentResponse"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/responses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask an agent
         * @description Begins a turn, in a new conversation or in the one of `previous_response_id` or
         *     `conversation`, and answers when it has ended, or streams it. Without `version`
         *     the draft runs. The turn goes on when the connection is lost: read it with
         *     `GET /responses/{id}`, end it with `POST /responses/{id}/cancel`.
         */
        post: operations["createResponse"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/responses/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `resp_{conversation_id}` (its newest turn), `run_{run_id}` or `resp_{run_id}`; a run
                 *     is looked for first.
                 */
                id: components["parameters"]["ResponseId"];
            };
            cookie?: never;
        };
        /**
         * Read or follow a response
         * @description The response as it is now. With `stream=true` its events, from the first one or
         *     from above `starting_after`, live until it ends. The numbers are the same however
         *     often it is streamed, until retention has deleted the pieces of an ended one: then
         *     each text comes in one piece, and a `starting_after` at or above the last number
         *     gives the terminal event alone.
         */
        get: operations["getResponse"];
        put?: never;
        post?: never;
        /**
         * Delete the conversation of a response
         * @description Only `resp_{conversation_id}` can be deleted: a single run is a part of its
         *     conversation. Deleting one that is not there is no error.
         */
        delete: operations["deleteResponse"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/responses/{id}/input_items": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `resp_{conversation_id}` (its newest turn), `run_{run_id}` or `resp_{run_id}`; a run
                 *     is looked for first.
                 */
                id: components["parameters"]["ResponseId"];
            };
            cookie?: never;
        };
        /** Read what a response answers */
        get: operations["listInputItems"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/responses/{id}/cancel": {
        parameters: {
            query?: {
                /** @description Wait up to so many milliseconds for the end. In the body it is the same. */
                wait_ms?: components["parameters"]["WaitMs"];
            };
            header?: never;
            path: {
                /**
                 * @description `resp_{conversation_id}` (its newest turn), `run_{run_id}` or `resp_{run_id}`; a run
                 *     is looked for first.
                 */
                id: components["parameters"]["ResponseId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop a response
         * @description As `POST /agents/responses/{id}/cancel`; the answer is the response object as it is
         *     now, with the fields of the stop.
         */
        post: operations["cancelResponse"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the agents as models */
        get: operations["listModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/responses/{id}/cancel": {
        parameters: {
            query?: {
                /** @description Wait up to so many milliseconds for the end. In the body it is the same. */
                wait_ms?: components["parameters"]["WaitMs"];
            };
            header?: never;
            path: {
                /**
                 * @description `resp_{conversation_id}` (its newest turn), `run_{run_id}` or `resp_{run_id}`; a run
                 *     is looked for first.
                 */
                id: components["parameters"]["ResponseId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop a response
         * @description Answers when the turn has been told to stop, not when it has ended; `wait_ms` waits
         *     for the end. That nothing runs is no error.
         */
        post: operations["cancelAgentResponse"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/conversations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List conversations, newest first
         * @description The token's own; with `agent.session_view_others` everybody's.
         */
        get: operations["listConversations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/conversations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        /** Read a conversation */
        get: operations["getConversation"];
        put?: never;
        post?: never;
        /**
         * Delete a conversation
         * @description With all that belongs to it. 409 while a turn of it is queued or runs. Deleting one
         *     that is not there is no error.
         */
        delete: operations["deleteConversation"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/conversations/{id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        /** Read a conversation's messages, oldest first */
        get: operations["listMessages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/conversations/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        /**
         * Read or follow a conversation's events
         * @description A page, or with `Accept: text/event-stream` all events above the cursor and then
         *     live ones, across turns, until the client goes. The SSE `id` is the event's `seq`,
         *     `event` its `type`; `Last-Event-ID` goes before `after`.
         */
        get: operations["listEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/conversations/{id}/cancel": {
        parameters: {
            query?: {
                /** @description Wait up to so many milliseconds for the end. In the body it is the same. */
                wait_ms?: components["parameters"]["WaitMs"];
            };
            header?: never;
            path: {
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop what runs in a conversation
         * @description Answers when the turn has been told to stop, not when it has ended; `wait_ms` waits
         *     for the end. That nothing runs is no error.
         */
        post: operations["cancelConversation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/conversations/{id}/actions": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        /** Read the approvals and questions of a conversation's newest turn */
        get: operations["listActions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/actions/{id}/decision": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Decide an approval or answer a question
         * @description An action is decided once: an equal decision is 200 again, another one is 409
         *     `action_already_decided`. When all actions of a turn are decided it goes on by itself.
         */
        post: operations["decideAction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description Any JSON value. */
        JSONValue: Record<string, unknown> | unknown[] | string | number | boolean | null;
        /** @description Accepted and ignored, because OpenAI's clients send it. */
        Ignored: Record<string, unknown> | unknown[] | string | number | boolean | null;
        Empty: Record<string, unknown>;
        Error: {
            error: components["schemas"]["ErrorBody"];
        };
        ErrorBody: {
            type: string;
            message: string;
            code: string;
            /** @description The field that is wrong, dotted, with indexes. */
            param: string | null;
            conversation_id?: string;
            run_id?: string;
            /** @description The permission that is missing. */
            permission?: string;
            /** @description What an action has been decided to. */
            state?: string;
            /** @description With stop_not_recorded: the turn runs here and was aborted all the same. */
            told?: boolean;
            side_effects_possible?: boolean;
            retryable?: boolean;
        };
        /** @enum {string} */
        AgentStatus: "active" | "disabled";
        Agent: {
            /** @enum {string} */
            object: "agent";
            key: string;
            name: string;
            status: components["schemas"]["AgentStatus"];
            config: components["schemas"]["AgentConfig"];
            /** @description The newest published version; null before the first. */
            published_version: number | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        AgentList: {
            data: components["schemas"]["Agent"][];
        };
        AgentCreate: {
            /** @description 1 to 63 of a-z, 0-9, - and _, starting with a letter or digit. */
            key: string;
            name?: string;
            status?: components["schemas"]["AgentStatus"];
            config: components["schemas"]["AgentConfig"];
        };
        AgentPatch: {
            name?: string;
            status?: components["schemas"]["AgentStatus"];
            config?: components["schemas"]["AgentConfigPatch"];
        };
        /** @description A merge patch of AgentConfig; the result must be a whole AgentConfig. */
        AgentConfigPatch: {
            [key: string]: unknown;
        };
        AgentConfig: {
            /** @description Key of a model. */
            model: string;
            fallback_models?: string[];
            instructions?: string;
            temperature?: number;
            top_p?: number;
            max_output_tokens?: number;
            tools?: components["schemas"]["ToolRef"][];
            limits?: components["schemas"]["Limits"];
            execution?: components["schemas"]["Execution"];
        };
        ToolRef: {
            /** @enum {string} */
            source: "function" | "openapi" | "mcp" | "sandbox" | "agent" | "memory" | "question" | "web_search";
            key: string;
            names?: string[];
            /** @enum {string} */
            approval?: "always" | "never";
            /** @description Of one call. Default 30000; of an agent 300000; of commands in a sandbox what the call asks for. */
            timeout_ms?: number;
            openapi?: components["schemas"]["OpenAPISource"];
            mcp?: components["schemas"]["MCPSource"];
            sandbox?: components["schemas"]["SandboxSource"];
            web_search?: components["schemas"]["WebSearchSource"];
            /**
             * @description For the source agent: another agent of the project as the tool `ask_` and the key.
             *     A call begins a turn of its published version in a conversation of its own, which
             *     stops with the turn that asked; its answer is the call's result. Two deep, and eight
             *     calls in one turn. While that turn waits for a person the call waits too, up to its
             *     timeout; a child that is stopped alone, fails or reaches a limit is a tool error. What
             *     it uses counts towards max_cost_usd and max_total_output_tokens of the turn that asked.
             */
            agent?: {
                /** @description Its key. */
                agent: string;
                /** @description What it is good for, for the model. */
                description?: string;
            };
        };
        /** @description Who answers web searches. Of source web_search; left out, the project's shared tool of the same key says it. */
        WebSearchSource: {
            /** @enum {string} */
            provider: "searxng" | "brave" | "tavily";
            /** @description Required for searxng. Default the provider's own address. */
            base_url?: string;
            auth?: components["schemas"]["ToolAuth"];
        };
        /** @description Where an MCP server is, either url or command. Of source mcp; left out, the project's shared tool of the same key says it. */
        MCPSource: {
            /** @description Of its streamable HTTP endpoint. */
            url?: string;
            /** @description The program and its arguments. Refused unless the operator allows commands (BELAY_MCP_STDIO=on). */
            command?: string[];
            /** @description The command's environment. It gets nothing of the node's own but PATH, HOME, TMPDIR and LANG. */
            env?: {
                [key: string]: string;
            };
            auth?: components["schemas"]["ToolAuth"];
        };
        /**
         * @description An HTTP API, each operation of which is a tool. Of source openapi; left out, the
         *     project's shared tool of the same key says it. Give document or document_url.
         */
        OpenAPISource: {
            /** @description OpenAPI 3.0 or 3.1 itself, YAML or JSON. */
            document?: string;
            document_url?: string;
            /** @description What the document's paths are below. Default its first server. */
            base_url?: string;
            auth?: components["schemas"]["ToolAuth"];
        };
        /** @description How calls to a tool's server prove who they are. Brave takes type header (X-Subscription-Token), Tavily type bearer. */
        ToolAuth: {
            /** @enum {string} */
            type: "bearer" | "basic" | "header";
            /** @description Its name, for type header. */
            header?: string;
            /** @description For type basic. */
            username?: string;
            /** @description Key of the project's shared tool that keeps the secret. */
            secret: string;
        };
        /** @description What commands in a sandbox may use. With source sandbox only. Zero is the default. */
        SandboxSource: {
            /** @description The node's network. Default none at all. */
            network?: boolean;
            /** @description Of a command's processes together. Default 512. */
            memory_mb?: number;
            /** @description At once in one session. Default 128. */
            processes?: number;
            /** @description Of the session's workspace. Default 256. */
            disk_mb?: number;
        };
        /** @description Zero is the default. A limit that is reached ends the turn with stop_reason limit and keeps the answer. */
        Limits: {
            /** @description Default 12. */
            max_tool_calls?: number;
            /** @description Default 4. */
            max_parallel_tools?: number;
            /** Format: int64 */
            max_wall_clock_ms?: number;
            /** Format: int64 */
            max_total_output_tokens?: number;
            max_cost_usd?: number;
        };
        Execution: {
            /** @description Default 300. */
            sync_timeout_seconds?: number;
            /** @description Default true. */
            background_enabled?: boolean;
            background_max_duration_minutes?: number;
            /** @enum {string} */
            default_mode?: "sync" | "background";
            callback_url?: string;
            /** @description Never returned. */
            callback_secret?: string;
        };
        /** @enum {string} */
        ConversationState: "idle" | "queued" | "running" | "stopping" | "requires_action";
        Conversation: {
            /** @enum {string} */
            object: "conversation";
            id: string;
            /** @description The agent's key. */
            agent: string;
            /** @description Who it belongs to: token:…, user:… or visitor:…. */
            owner: string;
            /** @description The API it was begun through. */
            door: string;
            title: string;
            state: components["schemas"]["ConversationState"];
            /** @description Of the turn that is queued, runs or waits. */
            run_id: string | null;
            /** @description Status of the newest turn. */
            last_status: string | null;
            last_stop_reason: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        ConversationList: {
            data: components["schemas"]["Conversation"][];
            next_cursor: string | null;
        };
        Message: {
            /** @description msg_{conversation_id}_{index} */
            id: string;
            index: number;
            /**
             * Format: int64
             * @description Its number among the conversation's events.
             */
            seq: number;
            run_id: string;
            /** @enum {string} */
            role: "user" | "assistant";
            content: string;
            reasoning?: string;
            calls?: components["schemas"]["Call"][];
            /** @enum {string} */
            status: "completed" | "incomplete";
            /** @description Why it is incomplete. */
            stop_reason?: string;
            usage?: components["schemas"]["CallUsage"];
            /** Format: date-time */
            created_at: string;
        };
        Call: {
            id: string;
            name: string;
            arguments: components["schemas"]["JSONValue"];
        };
        /** @description The account of the model call that produced a message. */
        CallUsage: {
            call: number;
            model: string;
            /** @enum {string} */
            status: "ok" | "error" | "cancelled";
            /** Format: int64 */
            input_tokens: number;
            /** Format: int64 */
            cached_input_tokens: number;
            /** Format: int64 */
            output_tokens: number;
            /** Format: int64 */
            reasoning_tokens: number;
            /** @description The provider did not count; we did. */
            estimated?: boolean;
            cost_usd: number;
            /** Format: int64 */
            latency_ms: number;
            /** Format: int64 */
            first_token_ms?: number;
            /** Format: date-time */
            at: string;
        };
        Tokens: {
            /** Format: int64 */
            input_tokens: number;
            /** Format: int64 */
            cached_input_tokens: number;
            /** Format: int64 */
            output_tokens: number;
            /** Format: int64 */
            reasoning_tokens: number;
            estimated?: boolean;
            cost_usd: number;
        };
        MessageList: {
            data: components["schemas"]["Message"][];
            has_more: boolean;
        };
        EventList: {
            data: components["schemas"]["Event"][];
            /**
             * Format: int64
             * @description The `after` of the next page.
             */
            next_after: number;
            state: components["schemas"]["ConversationState"];
            has_more: boolean;
        };
        Event: components["schemas"]["TurnStartedEvent"] | components["schemas"]["TurnPausedEvent"] | components["schemas"]["TurnStoppingEvent"] | components["schemas"]["TurnEndedEvent"] | components["schemas"]["MessageEvent"] | components["schemas"]["TextDeltaEvent"] | components["schemas"]["ReasoningDeltaEvent"] | components["schemas"]["ToolStartedEvent"] | components["schemas"]["ToolOutputEvent"] | components["schemas"]["ToolFinishedEvent"] | components["schemas"]["ActionRequestedEvent"] | components["schemas"]["ActionDecidedEvent"];
        /** @description What every event has. */
        EventHead: {
            /**
             * Format: int64
             * @description Grows within a conversation; not without gaps.
             */
            seq: number;
            type: string;
            run_id: string;
            /** Format: date-time */
            created_at: string;
            data: Record<string, unknown>;
        };
        TurnStartedEvent: components["schemas"]["EventHead"] & {
            /** @enum {string} */
            type?: "turn.started";
            data?: {
                agent: string;
                /** @description 0: the draft */
                version: number;
                model: string;
                door: string;
                by: string;
                /** @description Of the turn's first assistant message. */
                message_index: number;
                background?: boolean;
            };
        };
        TurnPausedEvent: components["schemas"]["EventHead"] & {
            /** @enum {string} */
            type?: "turn.paused";
            data?: {
                actions: string[];
            };
        };
        TurnStoppingEvent: components["schemas"]["EventHead"] & {
            /** @enum {string} */
            type?: "turn.stopping";
            data?: {
                by: string;
                door: string;
                node: string;
            };
        };
        TurnEndedEvent: components["schemas"]["EventHead"] & {
            /** @enum {string} */
            type?: "turn.ended";
            data?: {
                /** @enum {string} */
                status: "completed" | "incomplete" | "failed";
                /** @enum {string} */
                stop_reason?: "cancelled" | "limit";
                /**
                 * @description Of a limit: which. Of a stop that nobody asked for directly: superseded; and of a
                 *     sub-agent's turn parent_stopped, parent_lost (the turn that asked ended otherwise)
                 *     or parent_gave_up (it took longer than the call may).
                 */
                stop_detail?: string;
                stop?: {
                    by: string;
                    door: string;
                    node: string;
                    detail?: string;
                    /** Format: date-time */
                    at: string;
                };
                error?: {
                    code: string;
                    message: string;
                };
                usage: components["schemas"]["Tokens"];
                tools?: {
                    call_id: string;
                    name: string;
                    outcome: components["schemas"]["ToolOutcome"];
                }[];
            };
        };
        MessageEvent: components["schemas"]["EventHead"] & {
            /** @enum {string} */
            type?: "message";
            data?: {
                index: number;
                /** @enum {string} */
                role: "user" | "assistant";
                content: string;
                reasoning?: string;
                calls?: components["schemas"]["Call"][];
                /** @enum {string} */
                status: "completed" | "incomplete";
                stop_reason?: string;
                usage?: components["schemas"]["CallUsage"];
            };
        };
        TextDeltaEvent: components["schemas"]["EventHead"] & {
            /** @enum {string} */
            type?: "text.delta";
            data?: components["schemas"]["TextData"];
        };
        ReasoningDeltaEvent: components["schemas"]["EventHead"] & {
            /** @enum {string} */
            type?: "reasoning.delta";
            data?: components["schemas"]["TextData"];
        };
        TextData: {
            text: string;
        };
        /**
         * @description dropped: it could not be aborted and its result is used for nothing. unconfirmed:
         *     nobody can say whether it ran or still runs.
         * @enum {string}
         */
        ToolOutcome: "success" | "error" | "aborted" | "dropped" | "unconfirmed";
        ToolStartedEvent: components["schemas"]["EventHead"] & {
            /** @enum {string} */
            type?: "tool.started";
            data?: {
                call_id: string;
                name: string;
                source?: string;
                arguments: components["schemas"]["JSONValue"];
                abortable: boolean;
                /** @description The turn that the call of a sub-agent is about to begin, in a conversation of its own. Where there is none, it was never begun. */
                child?: {
                    conversation_id: string;
                    run_id: string;
                };
            };
        };
        ToolOutputEvent: components["schemas"]["EventHead"] & {
            /** @enum {string} */
            type?: "tool.output";
            data?: {
                call_id: string;
                text: string;
            };
        };
        ToolFinishedEvent: components["schemas"]["EventHead"] & {
            /** @enum {string} */
            type?: "tool.finished";
            data?: {
                call_id: string;
                name: string;
                outcome: components["schemas"]["ToolOutcome"];
                output: string;
                /** Format: int64 */
                duration_ms: number;
                /** @description How a sub-agent's turn ended, where the call saw its end; usage is its own and that of all below it. */
                child?: {
                    conversation_id: string;
                    run_id: string;
                    /** @enum {string} */
                    status: "completed" | "incomplete" | "failed";
                    /** @enum {string} */
                    stop_reason?: "cancelled" | "limit";
                    stop_detail?: string;
                    usage: components["schemas"]["Tokens"];
                };
            };
        };
        ActionRequestedEvent: components["schemas"]["EventHead"] & {
            /** @enum {string} */
            type?: "action.requested";
            data?: {
                action_id: string;
                call_id: string;
                action_type: components["schemas"]["ActionType"];
                name: string;
                arguments: components["schemas"]["JSONValue"];
            };
        };
        ActionDecidedEvent: components["schemas"]["EventHead"] & {
            /** @enum {string} */
            type?: "action.decided";
            data?: {
                action_id: string;
                state: components["schemas"]["ActionState"];
                by?: string;
            };
        };
        StopRequest: {
            /** @description Wait up to so many milliseconds for the end. */
            wait_ms?: number;
            /** @description Binds the stop to this turn; a later one is not touched. */
            run_id?: string;
        };
        /**
         * @description stopping: told, not ended. stopped: ended by this stop. finished: ended otherwise.
         *     none: nothing was there to stop.
         * @enum {string}
         */
        StopStatus: "stopping" | "stopped" | "finished" | "none";
        StopAnswer: {
            conversation_id: string;
            /** @description A turn was told to stop or ended, or open requests were withdrawn. A turn that was told ends as cancelled. */
            cancelled: boolean;
            run_ids: string[];
            /** @description With wait_ms. */
            done?: boolean;
            stop_status?: components["schemas"]["StopStatus"];
        };
        StopAnswerOfResponse: {
            /** @description As it was given. */
            id: string;
            conversation_id: string;
            cancelled: boolean;
            run_ids: string[];
            done?: boolean;
            stop_status?: components["schemas"]["StopStatus"];
        };
        /** @enum {string} */
        ActionType: "approval" | "question";
        /** @enum {string} */
        ActionState: "open" | "approved" | "denied" | "withdrawn" | "expired";
        Action: {
            /** @enum {string} */
            object: "action";
            id: string;
            type: components["schemas"]["ActionType"];
            state: components["schemas"]["ActionState"];
            conversation_id: string;
            run_id: string;
            call_id: string;
            name: string;
            arguments: components["schemas"]["JSONValue"];
            answer: string | null;
            decided_by: string | null;
            /** Format: date-time */
            decided_at: string | null;
            /** Format: date-time */
            created_at: string;
        };
        ActionList: {
            data: components["schemas"]["Action"][];
        };
        DecisionRequest: {
            /** @enum {string} */
            decision: "approve" | "reject" | "answer";
            /** @description To a question. */
            answer?: string;
            /** @description Edited arguments of an approval. */
            arguments?: Record<string, unknown>;
            /** @description Of an approval or rejection; the model reads it. */
            comment?: string;
        };
        ResponseRequest: {
            /** @description The agent's key. */
            model: string;
            /** @description What the user says. */
            input: string | components["schemas"]["InputMessage"][];
            stream?: boolean | null;
            previous_response_id?: string | null;
            /** @description Id of a conversation, instead of previous_response_id. */
            conversation?: null | string | {
                id: string;
            };
            /** @description Version of the agent; 0: the draft. */
            version?: number | null;
            metadata?: {
                [key: string]: string;
            } | null;
            /** @description Instead of the agent's. */
            instructions?: string | null;
            temperature?: number | null;
            top_p?: number | null;
            max_output_tokens?: number | null;
            /**
             * @description This build has no background runs yet.
             * @enum {boolean|null}
             */
            background?: false | null;
            /** @description An agent has its own tools. */
            tools?: unknown[] | null;
            /** @enum {string|null} */
            tool_choice?: "auto" | "none" | null;
            text?: {
                format?: {
                    /** @enum {string} */
                    type: "text";
                } | null;
                verbosity?: components["schemas"]["Ignored"];
            } | null;
            store?: components["schemas"]["Ignored"];
            include?: components["schemas"]["Ignored"];
            reasoning?: components["schemas"]["Ignored"];
            truncation?: components["schemas"]["Ignored"];
            user?: components["schemas"]["Ignored"];
            service_tier?: components["schemas"]["Ignored"];
            parallel_tool_calls?: components["schemas"]["Ignored"];
            prompt_cache_key?: components["schemas"]["Ignored"];
            safety_identifier?: components["schemas"]["Ignored"];
            stream_options?: components["schemas"]["Ignored"];
        };
        /** @description Several are read as one message, joined by a blank line. */
        InputMessage: {
            /** @enum {string} */
            type?: "message";
            /** @enum {string} */
            role: "user";
            content: string | components["schemas"]["InputText"][];
            id?: components["schemas"]["Ignored"];
            status?: components["schemas"]["Ignored"];
        };
        InputText: {
            /** @enum {string} */
            type: "input_text";
            text: string;
        };
        /** @enum {string} */
        ResponseStatus: "completed" | "failed" | "in_progress" | "cancelled" | "queued" | "incomplete";
        Response: {
            id: string;
            /** @enum {string} */
            object: "response";
            /** Format: int64 */
            created_at: number;
            /** Format: int64 */
            completed_at: number | null;
            status: components["schemas"]["ResponseStatus"];
            /** @description The agent's key. */
            model: string;
            output: components["schemas"]["OutputItem"][];
            usage: null | components["schemas"]["ResponseUsage"];
            error: null | components["schemas"]["ResponseError"];
            incomplete_details: null | components["schemas"]["IncompleteDetails"];
            instructions: null;
            metadata: {
                [key: string]: string;
            };
            parallel_tool_calls: boolean;
            /** Format: double */
            temperature: number | null;
            /** Format: double */
            top_p: number | null;
            max_output_tokens: number | null;
            /** @enum {string} */
            tool_choice: "auto";
            tools: Record<string, unknown>[];
            text: components["schemas"]["ResponseText"];
            /** @enum {string} */
            truncation: "disabled";
            store: boolean;
            background: boolean;
            previous_response_id: string | null;
            conversation_id: string;
            run_id: string;
            /** @description Version of the agent; 0: the draft. */
            version: number;
            /** @enum {string} */
            stop_reason?: "cancelled" | "limit" | "paused";
            stop_detail?: string;
            /** @description What a paused response waits for. */
            required_actions?: components["schemas"]["RequiredAction"][];
        };
        StoppedResponse: {
            id: string;
            /** @enum {string} */
            object: "response";
            /** Format: int64 */
            created_at: number;
            /** Format: int64 */
            completed_at?: number | null;
            status: components["schemas"]["ResponseStatus"];
            /** @description The agent's key. */
            model: string;
            output: components["schemas"]["OutputItem"][];
            usage?: null | components["schemas"]["ResponseUsage"];
            error?: null | components["schemas"]["ResponseError"];
            incomplete_details?: null | components["schemas"]["IncompleteDetails"];
            instructions?: null;
            metadata?: {
                [key: string]: string;
            };
            parallel_tool_calls?: boolean;
            /** Format: double */
            temperature?: number | null;
            /** Format: double */
            top_p?: number | null;
            max_output_tokens?: number | null;
            /** @enum {string} */
            tool_choice?: "auto";
            tools?: Record<string, unknown>[];
            text?: components["schemas"]["ResponseText"];
            /** @enum {string} */
            truncation?: "disabled";
            store?: boolean;
            background?: boolean;
            previous_response_id?: string | null;
            conversation_id: string;
            run_id?: string;
            /** @description Version of the agent; 0: the draft. */
            version?: number;
            /** @enum {string} */
            stop_reason?: "cancelled" | "limit" | "paused";
            stop_detail?: string;
            /** @description What a paused response waits for. */
            required_actions?: components["schemas"]["RequiredAction"][];
            cancelled: boolean;
            run_ids: string[];
            done?: boolean;
            stop_status?: components["schemas"]["StopStatus"];
        };
        ResponseText: {
            format: components["schemas"]["ResponseFormat"];
        };
        ResponseFormat: {
            /** @enum {string} */
            type: "text";
        };
        ResponseUsage: {
            /** Format: int64 */
            input_tokens: number;
            input_tokens_details: components["schemas"]["InputTokensDetails"];
            /** Format: int64 */
            output_tokens: number;
            output_tokens_details: components["schemas"]["OutputTokensDetails"];
            /** Format: int64 */
            total_tokens: number;
            /** @description A provider did not count; we did. */
            estimated?: boolean;
        };
        InputTokensDetails: {
            /** Format: int64 */
            cached_tokens: number;
            /** Format: int64 */
            cache_write_tokens: number;
        };
        OutputTokensDetails: {
            /** Format: int64 */
            reasoning_tokens: number;
        };
        ResponseError: {
            code: string;
            message: string;
        };
        IncompleteDetails: {
            /** @enum {string} */
            reason: "cancelled" | "limit" | "paused" | "max_output_tokens";
        };
        RequiredAction: {
            id: string;
            type: components["schemas"]["ActionType"];
            call_id: string;
            name: string;
            arguments: components["schemas"]["JSONValue"];
        };
        OutputItem: components["schemas"]["MessageItem"] | components["schemas"]["ReasoningItem"] | components["schemas"]["McpCallItem"];
        /** @enum {string} */
        ItemStatus: "in_progress" | "completed" | "incomplete";
        MessageItem: {
            id: string;
            /** @enum {string} */
            type: "message";
            /** @enum {string} */
            role: "assistant";
            status: components["schemas"]["ItemStatus"];
            content: components["schemas"]["OutputText"][];
        };
        OutputText: {
            /** @enum {string} */
            type: "output_text";
            text: string;
            annotations: Record<string, unknown>[];
        };
        ReasoningItem: {
            id: string;
            /** @enum {string} */
            type: "reasoning";
            status: components["schemas"]["ItemStatus"];
            summary: components["schemas"]["SummaryText"][];
        };
        SummaryText: {
            /** @enum {string} */
            type: "summary_text";
            text: string;
        };
        /** @description A tool call that the server runs. error of an incomplete one says how it ended. */
        McpCallItem: {
            id: string;
            /** @enum {string} */
            type: "mcp_call";
            server_label: string;
            name: string;
            /** @description JSON text. */
            arguments: string;
            /** @enum {string} */
            status: "in_progress" | "calling" | "completed" | "incomplete" | "failed";
            output: string | null;
            error: string | null;
        };
        ResponseEvent: components["schemas"]["LifecycleEvent"] | components["schemas"]["ItemEvent"] | components["schemas"]["PartEvent"] | components["schemas"]["OutputTextDeltaEvent"] | components["schemas"]["OutputTextDoneEvent"] | components["schemas"]["SummaryPartEvent"] | components["schemas"]["SummaryTextDeltaEvent"] | components["schemas"]["SummaryTextDoneEvent"] | components["schemas"]["McpCallEvent"] | components["schemas"]["McpArgumentsDeltaEvent"] | components["schemas"]["McpArgumentsDoneEvent"];
        LifecycleEvent: {
            /** @enum {string} */
            type: "response.created" | "response.in_progress" | "response.completed" | "response.incomplete" | "response.failed";
            /**
             * Format: int64
             * @description Counts the events of this response from 0, without gaps.
             */
            sequence_number: number;
            response: components["schemas"]["Response"];
        };
        ItemEvent: {
            /** @enum {string} */
            type: "response.output_item.added" | "response.output_item.done";
            /**
             * Format: int64
             * @description Counts the events of this response from 0, without gaps.
             */
            sequence_number: number;
            output_index: number;
            item: components["schemas"]["OutputItem"];
        };
        PartEvent: {
            /** @enum {string} */
            type: "response.content_part.added" | "response.content_part.done";
            /**
             * Format: int64
             * @description Counts the events of this response from 0, without gaps.
             */
            sequence_number: number;
            item_id: string;
            output_index: number;
            content_index: number;
            part: components["schemas"]["OutputText"];
        };
        OutputTextDeltaEvent: {
            /** @enum {string} */
            type: "response.output_text.delta";
            /**
             * Format: int64
             * @description Counts the events of this response from 0, without gaps.
             */
            sequence_number: number;
            item_id: string;
            output_index: number;
            content_index: number;
            delta: string;
            logprobs: unknown[];
        };
        OutputTextDoneEvent: {
            /** @enum {string} */
            type: "response.output_text.done";
            /**
             * Format: int64
             * @description Counts the events of this response from 0, without gaps.
             */
            sequence_number: number;
            item_id: string;
            output_index: number;
            content_index: number;
            text: string;
            logprobs: unknown[];
        };
        SummaryPartEvent: {
            /** @enum {string} */
            type: "response.reasoning_summary_part.added" | "response.reasoning_summary_part.done";
            /**
             * Format: int64
             * @description Counts the events of this response from 0, without gaps.
             */
            sequence_number: number;
            item_id: string;
            output_index: number;
            summary_index: number;
            part: components["schemas"]["SummaryText"];
        };
        SummaryTextDeltaEvent: {
            /** @enum {string} */
            type: "response.reasoning_summary_text.delta";
            /**
             * Format: int64
             * @description Counts the events of this response from 0, without gaps.
             */
            sequence_number: number;
            item_id: string;
            output_index: number;
            summary_index: number;
            delta: string;
        };
        SummaryTextDoneEvent: {
            /** @enum {string} */
            type: "response.reasoning_summary_text.done";
            /**
             * Format: int64
             * @description Counts the events of this response from 0, without gaps.
             */
            sequence_number: number;
            item_id: string;
            output_index: number;
            summary_index: number;
            text: string;
        };
        McpCallEvent: {
            /** @enum {string} */
            type: "response.mcp_call.in_progress" | "response.mcp_call.completed" | "response.mcp_call.failed";
            /**
             * Format: int64
             * @description Counts the events of this response from 0, without gaps.
             */
            sequence_number: number;
            item_id: string;
            output_index: number;
        };
        McpArgumentsDeltaEvent: {
            /** @enum {string} */
            type: "response.mcp_call_arguments.delta";
            /**
             * Format: int64
             * @description Counts the events of this response from 0, without gaps.
             */
            sequence_number: number;
            item_id: string;
            output_index: number;
            delta: string;
        };
        McpArgumentsDoneEvent: {
            /** @enum {string} */
            type: "response.mcp_call_arguments.done";
            /**
             * Format: int64
             * @description Counts the events of this response from 0, without gaps.
             */
            sequence_number: number;
            item_id: string;
            output_index: number;
            arguments: string;
        };
        InputItemList: {
            /** @enum {string} */
            object: "list";
            data: components["schemas"]["InputItem"][];
            first_id: string | null;
            last_id: string | null;
            has_more: boolean;
        };
        InputItem: {
            id: string;
            /** @enum {string} */
            type: "message";
            /** @enum {string} */
            role: "user";
            /** @enum {string} */
            status: "completed";
            content: components["schemas"]["InputText"][];
        };
        ResponseDeleted: {
            id: string;
            /** @enum {string} */
            object: "response.deleted";
            deleted: boolean;
        };
        ModelList: {
            /** @enum {string} */
            object: "list";
            data: components["schemas"]["Model"][];
        };
        Model: {
            id: string;
            /** @enum {string} */
            object: "model";
            /** Format: int64 */
            created: number;
            owned_by: string;
        };
    };
    responses: {
        /** @description The request was refused or failed. */
        Refused: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "X-Should-Retry": components["headers"]["ShouldRetry"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The response, or the stream of its events; each `data` line of the stream is one ResponseEvent. */
        Answer: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Response"];
                "text/event-stream": components["schemas"]["ResponseEvent"];
            };
        };
    };
    parameters: {
        AgentKey: string;
        ConversationId: string;
        /**
         * @description `resp_{conversation_id}` (its newest turn), `run_{run_id}` or `resp_{run_id}`; a run
         *     is looked for first.
         */
        ResponseId: string;
        /** @description Wait up to so many milliseconds for the end. In the body it is the same. */
        WaitMs: number;
    };
    requestBodies: {
        Ask: {
            content: {
                "application/json": components["schemas"]["ResponseRequest"];
            };
        };
        AskStop: {
            content: {
                "application/json": components["schemas"]["StopRequest"];
            };
        };
    };
    headers: {
        /** @description Names the request in the logs. */
        RequestId: string;
        /** @description Whether a client should send the request again. */
        ShouldRetry: "true" | "false";
        /** @description Seconds to wait before. */
        RetryAfter: number;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listAgents: {
        parameters: {
            query?: {
                /** @description Only agents of this status. */
                status?: components["schemas"]["AgentStatus"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agents, by key. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    createAgent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AgentCreate"];
            };
        };
        responses: {
            /** @description The agent. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: components["parameters"]["AgentKey"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agent. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    deleteAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: components["parameters"]["AgentKey"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is not there any more. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    updateAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: components["parameters"]["AgentKey"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AgentPatch"];
            };
        };
        responses: {
            /** @description The agent as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    publishAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: components["parameters"]["AgentKey"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description The agent, with its new version. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    createAgentResponse: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: components["requestBodies"]["Ask"];
        responses: {
            200: components["responses"]["Answer"];
            default: components["responses"]["Refused"];
        };
    };
    createResponse: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: components["requestBodies"]["Ask"];
        responses: {
            200: components["responses"]["Answer"];
            default: components["responses"]["Refused"];
        };
    };
    getResponse: {
        parameters: {
            query?: {
                stream?: boolean;
                /** @description The last `sequence_number` seen. Only with `stream=true`. */
                starting_after?: number;
            };
            header?: never;
            path: {
                /**
                 * @description `resp_{conversation_id}` (its newest turn), `run_{run_id}` or `resp_{run_id}`; a run
                 *     is looked for first.
                 */
                id: components["parameters"]["ResponseId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Answer"];
            default: components["responses"]["Refused"];
        };
    };
    deleteResponse: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `resp_{conversation_id}` (its newest turn), `run_{run_id}` or `resp_{run_id}`; a run
                 *     is looked for first.
                 */
                id: components["parameters"]["ResponseId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is not there any more. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResponseDeleted"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listInputItems: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `resp_{conversation_id}` (its newest turn), `run_{run_id}` or `resp_{run_id}`; a run
                 *     is looked for first.
                 */
                id: components["parameters"]["ResponseId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The message that was sent. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InputItemList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    cancelResponse: {
        parameters: {
            query?: {
                /** @description Wait up to so many milliseconds for the end. In the body it is the same. */
                wait_ms?: components["parameters"]["WaitMs"];
            };
            header?: never;
            path: {
                /**
                 * @description `resp_{conversation_id}` (its newest turn), `run_{run_id}` or `resp_{run_id}`; a run
                 *     is looked for first.
                 */
                id: components["parameters"]["ResponseId"];
            };
            cookie?: never;
        };
        requestBody?: components["requestBodies"]["AskStop"];
        responses: {
            /** @description The turn has been told to stop, or there was nothing to stop. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoppedResponse"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listModels: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agents that can be asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    cancelAgentResponse: {
        parameters: {
            query?: {
                /** @description Wait up to so many milliseconds for the end. In the body it is the same. */
                wait_ms?: components["parameters"]["WaitMs"];
            };
            header?: never;
            path: {
                /**
                 * @description `resp_{conversation_id}` (its newest turn), `run_{run_id}` or `resp_{run_id}`; a run
                 *     is looked for first.
                 */
                id: components["parameters"]["ResponseId"];
            };
            cookie?: never;
        };
        requestBody?: components["requestBodies"]["AskStop"];
        responses: {
            /** @description The turn has been told to stop, or there was nothing to stop. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StopAnswerOfResponse"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listConversations: {
        parameters: {
            query?: {
                /** @description Only conversations with this agent. */
                agent?: string;
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getConversation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The conversation and its state. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Conversation"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    deleteConversation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is not there any more. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    listMessages: {
        parameters: {
            query?: {
                /** @description The `index` of the last message seen. */
                after?: number;
                limit?: number;
            };
            header?: never;
            path: {
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listEvents: {
        parameters: {
            query?: {
                /** @description The `seq` of the last event seen. */
                after?: number;
                /** @description Of a page. */
                limit?: number;
            };
            header?: {
                "Last-Event-ID"?: number;
            };
            path: {
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page, or the stream; each `data` line of the stream is one Event. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventList"];
                    "text/event-stream": components["schemas"]["Event"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    cancelConversation: {
        parameters: {
            query?: {
                /** @description Wait up to so many milliseconds for the end. In the body it is the same. */
                wait_ms?: components["parameters"]["WaitMs"];
            };
            header?: never;
            path: {
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody?: components["requestBodies"]["AskStop"];
        responses: {
            /** @description The turn has been told to stop, or there was nothing to stop. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StopAnswer"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listActions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The actions, oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActionList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    decideAction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DecisionRequest"];
            };
        };
        responses: {
            /** @description The action, decided. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Action"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
}
