// Generated from api/portal.yaml by npm run generate.

export interface paths {
    "/{slug}/config": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                slug: components["parameters"]["Slug"];
            };
            cookie?: never;
        };
        /** Read what the chat looks like */
        get: operations["getPortal"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{slug}/visitors": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                slug: components["parameters"]["Slug"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Be let in
         * @description Without `token` a new anonymous visitor. With it the visitor whom the site has named:
         *     a JWT that the site's server has signed with the portal's secret (HS256, `sub`, `exp`
         *     and optionally `name`).
         */
        post: operations["admitVisitor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{slug}/conversations": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                slug: components["parameters"]["Slug"];
            };
            cookie?: never;
        };
        /** List the visitor's conversations, newest first */
        get: operations["listConversations"];
        put?: never;
        /** Begin a conversation with a message */
        post: operations["beginConversation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{slug}/conversations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                slug: components["parameters"]["Slug"];
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        /** Read a conversation */
        get: operations["getConversation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{slug}/conversations/{id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                slug: components["parameters"]["Slug"];
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        /** Read a conversation's messages, oldest first */
        get: operations["listMessages"];
        put?: never;
        /**
         * Say something
         * @description 409 `agent_run_conflict` while an answer is under way. Open requests are withdrawn by
         *     a new message, and the turn that waited for them ends as cancelled.
         */
        post: operations["sendMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{slug}/conversations/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                slug: components["parameters"]["Slug"];
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        /**
         * Follow a conversation's events
         * @description All events above the cursor and then live ones, across turns, until the client goes.
         *     The SSE `id` is the event's `seq`, `event` its `type`; `Last-Event-ID` goes before
         *     `after`. A comment comes after 15 s of silence.
         */
        get: operations["followEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{slug}/conversations/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                slug: components["parameters"]["Slug"];
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop the answer under way
         * @description Answers when the turn has been told to stop, not when it has ended; `wait_ms` waits
         *     for the end. That nothing runs is no error; where a request is open instead, it is
         *     409 `action_pending` and the request stays.
         */
        post: operations["stopConversation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{slug}/conversations/{id}/actions": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                slug: components["parameters"]["Slug"];
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        /** Read the open requests of a conversation */
        get: operations["listActions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{slug}/actions/{id}/decision": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                slug: components["parameters"]["Slug"];
                id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a question, or decide an approval
         * @description Approvals only where the portal lets visitors decide them.
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
        Error: {
            error: {
                type: string;
                message: string;
                code: string;
                param: string | null;
                conversation_id?: string;
                run_id?: string;
                told?: boolean;
            };
        };
        Portal: {
            slug: string;
            title: string;
            welcome: string;
            /** @description Visitors may come unnamed. */
            anonymous: boolean;
            /** @description Visitors may decide approvals. */
            approvals: boolean;
            max_message_chars: number;
        };
        AdmitRequest: {
            token?: string;
        };
        Visitor: {
            id: string;
            /** @description null: anonymous */
            name: string | null;
            token: string;
            /** Format: date-time */
            expires_at: string;
        };
        SayRequest: {
            content: string;
        };
        Sent: {
            conversation_id: string;
            run_id: string;
        };
        /** @enum {string} */
        ConversationState: "idle" | "queued" | "running" | "stopping" | "requires_action";
        Conversation: {
            id: string;
            title: string;
            state: components["schemas"]["ConversationState"];
            /** @description The turn that is queued, runs or waits. */
            run_id: string | null;
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
            index: number;
            /** Format: int64 */
            seq: number;
            run_id: string;
            /** @enum {string} */
            role: "user" | "assistant";
            content: string;
            /** @enum {string} */
            status: "completed" | "incomplete";
            stop_reason?: string;
            /** Format: date-time */
            created_at: string;
        };
        MessageList: {
            data: components["schemas"]["Message"][];
            has_more: boolean;
        };
        StopRequest: {
            /** @description Binds the stop to this turn. */
            run_id?: string;
            wait_ms?: number;
        };
        StopAnswer: {
            conversation_id: string;
            cancelled: boolean;
            run_ids: string[];
            /** @description With wait_ms. */
            done?: boolean;
            /** @enum {string} */
            stop_status?: "stopping" | "stopped" | "finished" | "none";
        };
        Action: {
            id: string;
            /** @enum {string} */
            type: "approval" | "question";
            /** @enum {string} */
            state: "open" | "approved" | "denied" | "withdrawn" | "expired";
            conversation_id: string;
            run_id: string;
            name: string;
            /** @description The question; of an approval only where visitors decide it. */
            arguments: Record<string, unknown> | null;
            answer: string | null;
            /** Format: date-time */
            created_at: string;
        };
        ActionList: {
            data: components["schemas"]["Action"][];
        };
        Decision: {
            /** @enum {string} */
            decision: "approve" | "reject" | "answer";
            answer?: string;
            /** @description Edited ones; with approve. */
            arguments?: Record<string, unknown>;
            comment?: string;
        };
        /**
         * @description As in the client API, less what a visitor is not to know. `data` by `type`:
         *     `turn.started` {message_index}, `message` {index, role, content, status, stop_reason},
         *     `text.delta` {text}, `tool.started` {call_id, name, abortable}, `tool.finished`
         *     {call_id, name, outcome}, `action.requested` {action_id, call_id, action_type, name,
         *     arguments}, `action.decided` {action_id, state}, `turn.paused` {actions},
         *     `turn.stopping` {}, `turn.ended` {status, stop_reason, stop_detail, error}.
         */
        Event: {
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "turn.started" | "message" | "text.delta" | "tool.started" | "tool.finished" | "action.requested" | "action.decided" | "turn.paused" | "turn.stopping" | "turn.ended";
            run_id: string;
            /** Format: date-time */
            created_at: string;
            data: Record<string, unknown>;
        };
    };
    responses: {
        /** @description Refused. The error document of all APIs. */
        Refused: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: {
        Slug: string;
        ConversationId: string;
    };
    requestBodies: {
        Say: {
            content: {
                "application/json": components["schemas"]["SayRequest"];
            };
        };
    };
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getPortal: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                slug: components["parameters"]["Slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The portal. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Portal"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    admitVisitor: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                slug: components["parameters"]["Slug"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AdmitRequest"];
            };
        };
        responses: {
            /** @description The visitor, and the token that it calls with. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Visitor"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listConversations: {
        parameters: {
            query?: {
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                slug: components["parameters"]["Slug"];
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
                    "application/json": components["schemas"]["ConversationList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    beginConversation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                slug: components["parameters"]["Slug"];
            };
            cookie?: never;
        };
        requestBody: components["requestBodies"]["Say"];
        responses: {
            /** @description The message is taken, and the answer has begun. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sent"];
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
                slug: components["parameters"]["Slug"];
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
    listMessages: {
        parameters: {
            query?: {
                /** @description The `index` of the last message seen. */
                after?: number;
                limit?: number;
            };
            header?: never;
            path: {
                slug: components["parameters"]["Slug"];
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
    sendMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                slug: components["parameters"]["Slug"];
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody: components["requestBodies"]["Say"];
        responses: {
            /** @description The message is taken, and the answer has begun. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sent"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    followEvents: {
        parameters: {
            query?: {
                /** @description The `seq` of the last event seen. */
                after?: number;
            };
            header?: {
                "Last-Event-ID"?: number;
            };
            path: {
                slug: components["parameters"]["Slug"];
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Each `data` line is one Event. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["Event"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    stopConversation: {
        parameters: {
            query?: {
                wait_ms?: number;
            };
            header?: never;
            path: {
                slug: components["parameters"]["Slug"];
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["StopRequest"];
            };
        };
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
                slug: components["parameters"]["Slug"];
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The requests, oldest first. */
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
                slug: components["parameters"]["Slug"];
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Decision"];
            };
        };
        responses: {
            /** @description The request, decided. */
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
