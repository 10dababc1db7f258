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
    "/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the project's shared tools */
        get: operations["listTools"];
        put?: never;
        /**
         * Create a shared tool
         * @description Agents name it by its source and key. It is opened before it is stored, as an agent's
         *     turn would: a document or server that can't be used is an invalid_request with the
         *     field that is to blame as param. A secret is kept encrypted and never returned.
         */
        post: operations["createTool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tools/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: components["parameters"]["ToolKey"];
            };
            cookie?: never;
        };
        /** Read a shared tool */
        get: operations["getTool"];
        put?: never;
        post?: never;
        /**
         * Delete a shared tool and its secret
         * @description Deleting one that is not there is no error. 409 tool_in_use while an agent's draft or
         *     published version, or another shared tool, needs it: the message names them.
         */
        delete: operations["deleteTool"];
        options?: never;
        head?: never;
        /**
         * Change a shared tool
         * @description The body is a JSON Merge Patch (RFC 7396): fields that are not named stay, null clears
         *     (of `secret`: the stored one is deleted). What comes out is opened before it is stored,
         *     as by createTool. 409 changed: somebody else changed it meanwhile.
         */
        patch: operations["updateTool"];
        trace?: never;
    };
    "/tools/{key}/check": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: components["parameters"]["ToolKey"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Open a shared tool as it is stored and tell what it offers
         * @description As an agent's turn would open it. One that can't be used is an invalid_request with
         *     the field that is to blame as param.
         */
        post: operations["checkTool"];
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
         * @description As `POST /responses`, but without `version` the published version runs, and a
         *     background run is answered with the run.
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
         *
         *     With `background: true`, or where it is the agent's `default_mode`, the turn is
         *     queued and any node runs it, once: the answer is 202 with the response as it is then,
         *     or its stream. The request may carry an `Idempotency-Key`.
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
    "/chat/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask an agent as a chat completion
         * @description Without `conversation_id` the whole list of messages is the context of a new
         *     conversation: what was said before, and last the message to answer. What its system and
         *     developer messages say is added to the agent's own instructions, for every turn of the
         *     conversation. With `conversation_id` only the list's last user message is used, the rest
         *     is kept here. The agent's tools run here and are not shown.
         *
         *     A chat completion is stopped as its conversation: `conversation_id` is in every chunk.
         *     A stopped stream ends with its last chunk and `[DONE]`; a stream whose turn fails ends
         *     with an error document and no `[DONE]`.
         */
        post: operations["createChatCompletion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/assistants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the agents as assistants */
        get: operations["listAssistants"];
        put?: never;
        /**
         * Create an agent as an assistant
         * @description Its agent is published at once, so that it can be run.
         */
        post: operations["createAssistant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/assistants/{assistant}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `asst_{agent key}` */
                assistant: components["parameters"]["AssistantId"];
            };
            cookie?: never;
        };
        /** Read an assistant */
        get: operations["getAssistant"];
        put?: never;
        /**
         * Change an assistant
         * @description Its agent's draft is changed and published.
         */
        post: operations["updateAssistant"];
        /**
         * Delete an assistant
         * @description Deleting one that is not there is no error.
         */
        delete: operations["deleteAssistant"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a thread
         * @description A thread is a conversation. It stays with the assistant of its first run.
         */
        post: operations["createThread"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a thread and run it
         * @description As createRun; the stream begins with `thread.created`.
         */
        post: operations["createThreadAndRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
            };
            cookie?: never;
        };
        /** Read a thread */
        get: operations["getThread"];
        put?: never;
        /** Replace a thread's metadata */
        post: operations["updateThread"];
        /**
         * Delete a thread
         * @description With all that belongs to it. 409 while a run of it is queued or runs. Deleting one that is
         *     not there is no error.
         */
        delete: operations["deleteThread"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
            };
            cookie?: never;
        };
        /** List a thread's messages */
        get: operations["listThreadMessages"];
        put?: never;
        /**
         * Add a message to a thread
         * @description It is answered by the next run. 409 while a run of the thread is queued or runs, but a run
         *     that is cancelling is waited for. A run that waits for a person is ended by it, as by any new
         *     message.
         */
        post: operations["createThreadMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread}/messages/{message}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
                /** @description `msg_{conversation_id}_{index}` */
                message: components["parameters"]["ThreadMessageId"];
            };
            cookie?: never;
        };
        /** Read a message */
        get: operations["getThreadMessage"];
        put?: never;
        /**
         * Refused: a message is kept as it was written
         * @description Always 400.
         */
        post: operations["updateThreadMessage"];
        /**
         * Refused: a message is a part of its thread
         * @description Always 400.
         */
        delete: operations["deleteThreadMessage"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
            };
            cookie?: never;
        };
        /** List a thread's runs */
        get: operations["listThreadRuns"];
        put?: never;
        /**
         * Run an assistant on a thread
         * @description The run executes inside this request, which answers when it has ended or waits for a person;
         *     it can be read, listed and cancelled from its start. Closing the connection does not stop it.
         *     A run that failed is a run whose status says so, not an error of this request.
         */
        post: operations["createRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread}/runs/{run}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
                /** @description `run_{run_id}` */
                run: components["parameters"]["ThreadRunId"];
            };
            cookie?: never;
        };
        /**
         * Read a run
         * @description While it is not over the header `openai-poll-after-ms` says when to ask again.
         */
        get: operations["getThreadRun"];
        put?: never;
        /**
         * Refused: a run's metadata is that which it was begun with
         * @description Always 400.
         */
        post: operations["updateThreadRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread}/runs/{run}/cancel": {
        parameters: {
            query?: {
                /** @description Wait up to so many milliseconds for the end. In the body it is the same. */
                wait_ms?: components["parameters"]["WaitMs"];
            };
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
                /** @description `run_{run_id}` */
                run: components["parameters"]["ThreadRunId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop what runs on a thread
         * @description Stops the turn that runs on the thread, whichever that is, and answers with it, its status
         *     `cancelling`; with `wait_ms` as it then is. 400 `run_already_ended` where the run of the path
         *     has ended, 404 where nothing runs.
         */
        post: operations["cancelThreadRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread}/runs/{run}/steps": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
                /** @description `run_{run_id}` */
                run: components["parameters"]["ThreadRunId"];
            };
            cookie?: never;
        };
        /**
         * List a run's steps
         * @description Always empty: what an agent's tools did is in its conversation's events.
         */
        get: operations["listRunSteps"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread}/runs/{run}/submit_tool_outputs": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
                /** @description `run_{run_id}` */
                run: components["parameters"]["ThreadRunId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Refused: an agent's tools run here
         * @description Always 400.
         */
        post: operations["submitToolOutputs"];
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
    "/agents/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List background runs, newest first
         * @description Of the token's own conversations; with `agent.session_view_others` of everybody's.
         */
        get: operations["listRuns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/runs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Bare, `run_{run_id}` or `resp_{run_id}`. */
                id: components["parameters"]["RunId"];
            };
            cookie?: never;
        };
        /** Read a background run */
        get: operations["getRun"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/runs/{id}/cancel": {
        parameters: {
            query?: {
                /** @description Wait up to so many milliseconds for the end. In the body it is the same. */
                wait_ms?: components["parameters"]["WaitMs"];
            };
            header?: never;
            path: {
                /** @description Bare, `run_{run_id}` or `resp_{run_id}`. */
                id: components["parameters"]["RunId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a background run
         * @description A queued run is canceled at once and never starts. One that runs is told to stop and
         *     ends soon after; `wait_ms` waits for that. One that waits for a person is ended by
         *     answering its open requests "no": 403 `action_forbidden` for who may not. One that has
         *     ended is 409 `agent_run_already_terminal`.
         */
        post: operations["cancelRun"];
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
        /**
         * Read the approvals and questions of a conversation's newest turn
         * @description Those that a stop has left open are among them, whichever turn asked.
         */
        get: operations["listActions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the approvals and questions that wait for a person, newest first
         * @description With `agent.approve` all approvals of the project; what conversations of the token's own ask, and
         *     with `agent.session_view_others` everybody's.
         */
        get: operations["listOpenActions"];
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
         *
         *     An approval outlives a stop by somebody who may not approve. Rejected, it is closed;
         *     approved, the conversation goes on in a new turn (`run_id` of the answer) whose first step
         *     is that call. While the conversation has another turn that is 409 `agent_run_conflict`, and
         *     the action stays open. The conversation's next message withdraws it.
         */
        post: operations["decideAction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/runs/{id}/callback/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Bare, `run_{run_id}` or `resp_{run_id}`. */
                id: components["parameters"]["RunId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a run's newest callback again
         * @description Whatever became of it: the same event under the same id, tried as often as the first
         *     time. 409 `agent_run_no_callback` where the run has none, or has nothing to tell yet.
         */
        post: operations["redeliverCallback"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/callbacks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what callbacks were sent, newest first
         * @description Of the token's own runs; with `agent.session_view_others` of everybody's. What was
         *     delivered or given up is listed until retention deletes it.
         */
        get: operations["listCallbacks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the project's audit log, newest first
         * @description Who stopped a turn, decided an action, published an agent, made or revoked a token or
         *     had a callback sent again: through which door, at which node, from which address.
         *     Needs `operations.view`.
         */
        get: operations["listAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/a2a/{agent}": {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the protocol; none is 0.3. */
                "A2A-Version"?: components["parameters"]["A2AVersion"];
            };
            path: {
                /** @description Key of an agent. */
                agent: components["parameters"]["A2AAgent"];
            };
            cookie?: never;
        };
        /**
         * Read an agent's card
         * @description That of the version of the URL or the header; without both, one that has the fields
         *     of 0.3 and `supportedInterfaces`.
         */
        get: {
            parameters: {
                query?: never;
                header?: {
                    /** @description Version of the protocol; none is 0.3. */
                    "A2A-Version"?: components["parameters"]["A2AVersion"];
                };
                path: {
                    /** @description Key of an agent. */
                    agent: components["parameters"]["A2AAgent"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The card. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2ACard"];
                    };
                };
                /** @description It is as `If-None-Match` has it. */
                304: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                default: components["responses"]["Refused"];
            };
        };
        put?: never;
        /**
         * Speak A2A to an agent, by JSON-RPC
         * @description The Agent2Agent protocol, 0.3 without the header or with `0.3`, 1.0 with `1.0`. Errors
         *     are HTTP 200 and JSON-RPC, but for a missing token (401) and an agent that is not
         *     there, active and published (404). A task is a turn, a context a conversation.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description Version of the protocol; none is 0.3. */
                    "A2A-Version"?: components["parameters"]["A2AVersion"];
                };
                path: {
                    /** @description Key of an agent. */
                    agent: components["parameters"]["A2AAgent"];
                };
                cookie?: never;
            };
            /** @description One JSON-RPC request. */
            requestBody: {
                content: {
                    "application/json": unknown;
                };
            };
            responses: {
                /**
                 * @description The answer. message/stream, tasks/resubscribe and their names in 1.0 answer with a
                 *     stream, each `data` line of which is an answer.
                 */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2AAnswer"];
                        "text/event-stream": components["schemas"]["A2AAnswer"];
                    };
                };
                /** @description No token, or no such agent. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2AAnswer"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/a2a/{agent}/": {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the protocol; none is 0.3. */
                "A2A-Version"?: components["parameters"]["A2AVersion"];
            };
            path: {
                /** @description Key of an agent. */
                agent: components["parameters"]["A2AAgent"];
            };
            cookie?: never;
        };
        /**
         * Read an agent's card
         * @description That of the version of the URL or the header; without both, one that has the fields
         *     of 0.3 and `supportedInterfaces`.
         */
        get: {
            parameters: {
                query?: never;
                header?: {
                    /** @description Version of the protocol; none is 0.3. */
                    "A2A-Version"?: components["parameters"]["A2AVersion"];
                };
                path: {
                    /** @description Key of an agent. */
                    agent: components["parameters"]["A2AAgent"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The card. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2ACard"];
                    };
                };
                /** @description It is as `If-None-Match` has it. */
                304: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                default: components["responses"]["Refused"];
            };
        };
        put?: never;
        /**
         * Speak A2A to an agent, by JSON-RPC
         * @description The Agent2Agent protocol, 0.3 without the header or with `0.3`, 1.0 with `1.0`. Errors
         *     are HTTP 200 and JSON-RPC, but for a missing token (401) and an agent that is not
         *     there, active and published (404). A task is a turn, a context a conversation.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description Version of the protocol; none is 0.3. */
                    "A2A-Version"?: components["parameters"]["A2AVersion"];
                };
                path: {
                    /** @description Key of an agent. */
                    agent: components["parameters"]["A2AAgent"];
                };
                cookie?: never;
            };
            /** @description One JSON-RPC request. */
            requestBody: {
                content: {
                    "application/json": unknown;
                };
            };
            responses: {
                /**
                 * @description The answer. message/stream, tasks/resubscribe and their names in 1.0 answer with a
                 *     stream, each `data` line of which is an answer.
                 */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2AAnswer"];
                        "text/event-stream": components["schemas"]["A2AAnswer"];
                    };
                };
                /** @description No token, or no such agent. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2AAnswer"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/a2a/{agent}/.well-known/agent-card.json": {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the protocol; none is 0.3. */
                "A2A-Version"?: components["parameters"]["A2AVersion"];
            };
            path: {
                /** @description Key of an agent. */
                agent: components["parameters"]["A2AAgent"];
            };
            cookie?: never;
        };
        /**
         * Read an agent's card
         * @description That of the version of the URL or the header; without both, one that has the fields
         *     of 0.3 and `supportedInterfaces`.
         */
        get: {
            parameters: {
                query?: never;
                header?: {
                    /** @description Version of the protocol; none is 0.3. */
                    "A2A-Version"?: components["parameters"]["A2AVersion"];
                };
                path: {
                    /** @description Key of an agent. */
                    agent: components["parameters"]["A2AAgent"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The card. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2ACard"];
                    };
                };
                /** @description It is as `If-None-Match` has it. */
                304: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                default: components["responses"]["Refused"];
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/a2a/{agent}/v0.3": {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the protocol; none is 0.3. */
                "A2A-Version"?: components["parameters"]["A2AVersion"];
            };
            path: {
                /** @description Key of an agent. */
                agent: components["parameters"]["A2AAgent"];
            };
            cookie?: never;
        };
        /**
         * Read an agent's card
         * @description That of the version of the URL or the header; without both, one that has the fields
         *     of 0.3 and `supportedInterfaces`.
         */
        get: {
            parameters: {
                query?: never;
                header?: {
                    /** @description Version of the protocol; none is 0.3. */
                    "A2A-Version"?: components["parameters"]["A2AVersion"];
                };
                path: {
                    /** @description Key of an agent. */
                    agent: components["parameters"]["A2AAgent"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The card. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2ACard"];
                    };
                };
                /** @description It is as `If-None-Match` has it. */
                304: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                default: components["responses"]["Refused"];
            };
        };
        put?: never;
        /**
         * Speak A2A to an agent, by JSON-RPC
         * @description The Agent2Agent protocol, 0.3 without the header or with `0.3`, 1.0 with `1.0`. Errors
         *     are HTTP 200 and JSON-RPC, but for a missing token (401) and an agent that is not
         *     there, active and published (404). A task is a turn, a context a conversation.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description Version of the protocol; none is 0.3. */
                    "A2A-Version"?: components["parameters"]["A2AVersion"];
                };
                path: {
                    /** @description Key of an agent. */
                    agent: components["parameters"]["A2AAgent"];
                };
                cookie?: never;
            };
            /** @description One JSON-RPC request. */
            requestBody: {
                content: {
                    "application/json": unknown;
                };
            };
            responses: {
                /**
                 * @description The answer. message/stream, tasks/resubscribe and their names in 1.0 answer with a
                 *     stream, each `data` line of which is an answer.
                 */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2AAnswer"];
                        "text/event-stream": components["schemas"]["A2AAnswer"];
                    };
                };
                /** @description No token, or no such agent. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2AAnswer"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/a2a/{agent}/v0.3/": {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the protocol; none is 0.3. */
                "A2A-Version"?: components["parameters"]["A2AVersion"];
            };
            path: {
                /** @description Key of an agent. */
                agent: components["parameters"]["A2AAgent"];
            };
            cookie?: never;
        };
        /**
         * Read an agent's card
         * @description That of the version of the URL or the header; without both, one that has the fields
         *     of 0.3 and `supportedInterfaces`.
         */
        get: {
            parameters: {
                query?: never;
                header?: {
                    /** @description Version of the protocol; none is 0.3. */
                    "A2A-Version"?: components["parameters"]["A2AVersion"];
                };
                path: {
                    /** @description Key of an agent. */
                    agent: components["parameters"]["A2AAgent"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The card. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2ACard"];
                    };
                };
                /** @description It is as `If-None-Match` has it. */
                304: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                default: components["responses"]["Refused"];
            };
        };
        put?: never;
        /**
         * Speak A2A to an agent, by JSON-RPC
         * @description The Agent2Agent protocol, 0.3 without the header or with `0.3`, 1.0 with `1.0`. Errors
         *     are HTTP 200 and JSON-RPC, but for a missing token (401) and an agent that is not
         *     there, active and published (404). A task is a turn, a context a conversation.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description Version of the protocol; none is 0.3. */
                    "A2A-Version"?: components["parameters"]["A2AVersion"];
                };
                path: {
                    /** @description Key of an agent. */
                    agent: components["parameters"]["A2AAgent"];
                };
                cookie?: never;
            };
            /** @description One JSON-RPC request. */
            requestBody: {
                content: {
                    "application/json": unknown;
                };
            };
            responses: {
                /**
                 * @description The answer. message/stream, tasks/resubscribe and their names in 1.0 answer with a
                 *     stream, each `data` line of which is an answer.
                 */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2AAnswer"];
                        "text/event-stream": components["schemas"]["A2AAnswer"];
                    };
                };
                /** @description No token, or no such agent. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2AAnswer"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/a2a/{agent}/v0.3/.well-known/agent-card.json": {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the protocol; none is 0.3. */
                "A2A-Version"?: components["parameters"]["A2AVersion"];
            };
            path: {
                /** @description Key of an agent. */
                agent: components["parameters"]["A2AAgent"];
            };
            cookie?: never;
        };
        /**
         * Read an agent's card
         * @description That of the version of the URL or the header; without both, one that has the fields
         *     of 0.3 and `supportedInterfaces`.
         */
        get: {
            parameters: {
                query?: never;
                header?: {
                    /** @description Version of the protocol; none is 0.3. */
                    "A2A-Version"?: components["parameters"]["A2AVersion"];
                };
                path: {
                    /** @description Key of an agent. */
                    agent: components["parameters"]["A2AAgent"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The card. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2ACard"];
                    };
                };
                /** @description It is as `If-None-Match` has it. */
                304: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                default: components["responses"]["Refused"];
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/a2a/{agent}/v1.0": {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the protocol; none is 0.3. */
                "A2A-Version"?: components["parameters"]["A2AVersion"];
            };
            path: {
                /** @description Key of an agent. */
                agent: components["parameters"]["A2AAgent"];
            };
            cookie?: never;
        };
        /**
         * Read an agent's card
         * @description That of the version of the URL or the header; without both, one that has the fields
         *     of 0.3 and `supportedInterfaces`.
         */
        get: {
            parameters: {
                query?: never;
                header?: {
                    /** @description Version of the protocol; none is 0.3. */
                    "A2A-Version"?: components["parameters"]["A2AVersion"];
                };
                path: {
                    /** @description Key of an agent. */
                    agent: components["parameters"]["A2AAgent"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The card. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2ACard"];
                    };
                };
                /** @description It is as `If-None-Match` has it. */
                304: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                default: components["responses"]["Refused"];
            };
        };
        put?: never;
        /**
         * Speak A2A to an agent, by JSON-RPC
         * @description The Agent2Agent protocol, 0.3 without the header or with `0.3`, 1.0 with `1.0`. Errors
         *     are HTTP 200 and JSON-RPC, but for a missing token (401) and an agent that is not
         *     there, active and published (404). A task is a turn, a context a conversation.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description Version of the protocol; none is 0.3. */
                    "A2A-Version"?: components["parameters"]["A2AVersion"];
                };
                path: {
                    /** @description Key of an agent. */
                    agent: components["parameters"]["A2AAgent"];
                };
                cookie?: never;
            };
            /** @description One JSON-RPC request. */
            requestBody: {
                content: {
                    "application/json": unknown;
                };
            };
            responses: {
                /**
                 * @description The answer. message/stream, tasks/resubscribe and their names in 1.0 answer with a
                 *     stream, each `data` line of which is an answer.
                 */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2AAnswer"];
                        "text/event-stream": components["schemas"]["A2AAnswer"];
                    };
                };
                /** @description No token, or no such agent. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2AAnswer"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/a2a/{agent}/v1.0/": {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the protocol; none is 0.3. */
                "A2A-Version"?: components["parameters"]["A2AVersion"];
            };
            path: {
                /** @description Key of an agent. */
                agent: components["parameters"]["A2AAgent"];
            };
            cookie?: never;
        };
        /**
         * Read an agent's card
         * @description That of the version of the URL or the header; without both, one that has the fields
         *     of 0.3 and `supportedInterfaces`.
         */
        get: {
            parameters: {
                query?: never;
                header?: {
                    /** @description Version of the protocol; none is 0.3. */
                    "A2A-Version"?: components["parameters"]["A2AVersion"];
                };
                path: {
                    /** @description Key of an agent. */
                    agent: components["parameters"]["A2AAgent"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The card. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2ACard"];
                    };
                };
                /** @description It is as `If-None-Match` has it. */
                304: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                default: components["responses"]["Refused"];
            };
        };
        put?: never;
        /**
         * Speak A2A to an agent, by JSON-RPC
         * @description The Agent2Agent protocol, 0.3 without the header or with `0.3`, 1.0 with `1.0`. Errors
         *     are HTTP 200 and JSON-RPC, but for a missing token (401) and an agent that is not
         *     there, active and published (404). A task is a turn, a context a conversation.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description Version of the protocol; none is 0.3. */
                    "A2A-Version"?: components["parameters"]["A2AVersion"];
                };
                path: {
                    /** @description Key of an agent. */
                    agent: components["parameters"]["A2AAgent"];
                };
                cookie?: never;
            };
            /** @description One JSON-RPC request. */
            requestBody: {
                content: {
                    "application/json": unknown;
                };
            };
            responses: {
                /**
                 * @description The answer. message/stream, tasks/resubscribe and their names in 1.0 answer with a
                 *     stream, each `data` line of which is an answer.
                 */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2AAnswer"];
                        "text/event-stream": components["schemas"]["A2AAnswer"];
                    };
                };
                /** @description No token, or no such agent. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2AAnswer"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/a2a/{agent}/v1.0/.well-known/agent-card.json": {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the protocol; none is 0.3. */
                "A2A-Version"?: components["parameters"]["A2AVersion"];
            };
            path: {
                /** @description Key of an agent. */
                agent: components["parameters"]["A2AAgent"];
            };
            cookie?: never;
        };
        /**
         * Read an agent's card
         * @description That of the version of the URL or the header; without both, one that has the fields
         *     of 0.3 and `supportedInterfaces`.
         */
        get: {
            parameters: {
                query?: never;
                header?: {
                    /** @description Version of the protocol; none is 0.3. */
                    "A2A-Version"?: components["parameters"]["A2AVersion"];
                };
                path: {
                    /** @description Key of an agent. */
                    agent: components["parameters"]["A2AAgent"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The card. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2ACard"];
                    };
                };
                /** @description It is as `If-None-Match` has it. */
                304: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                default: components["responses"]["Refused"];
            };
        };
        put?: never;
        post?: never;
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
        CallbackStatus: "pending" | "delivered" | "dead";
        /** @description How far the newest delivery of a run's callback has got. */
        RunCallback: {
            url: string;
            status: components["schemas"]["CallbackStatus"];
            attempts: number;
            /** @description A secret is kept to sign what is sent. */
            signed: boolean;
        };
        /** @description One event for one run's callback. */
        Callback: {
            /** @enum {string} */
            object: "callback";
            /** @description The same at every attempt; the header webhook-id. */
            id: string;
            /** @enum {string} */
            event: "agent_run.succeeded" | "agent_run.failed" | "agent_run.canceled" | "agent_run.requires_action";
            run_id: string;
            conversation_id: string;
            url: string;
            signed: boolean;
            status: components["schemas"]["CallbackStatus"];
            /** @description Since it was made or last sent again. */
            attempts: number;
            /** @description Why the last attempt failed. */
            error: string | null;
            /** Format: int64 */
            created_at: number;
            /** Format: int64 */
            tried_at: number | null;
            /**
             * Format: int64
             * @description When it was delivered or given up.
             */
            completed_at: number | null;
        };
        CallbackList: {
            data: components["schemas"]["Callback"][];
            next_cursor: string | null;
        };
        /** @enum {string} */
        AuditAction: "turn.stopped" | "action.decided" | "agent.published" | "token.created" | "token.revoked" | "callback.redelivered";
        AuditEntry: {
            /** @enum {string} */
            object: "audit.entry";
            id: string;
            /** Format: date-time */
            at: string;
            action: components["schemas"]["AuditAction"];
            /** @description The principal, or the user of a command line. */
            by: string;
            door: string;
            /** @description The node that took the request. */
            node: string;
            /** @description Of the caller on the network. */
            address: string | null;
            conversation_id: string | null;
            run_id: string | null;
            /** @description Id of the action, the token or the callback, key of the agent. */
            subject: string | null;
            /** @description What was decided, the version, the name of the token, why a turn was stopped that nobody stopped by hand. */
            detail: string | null;
        };
        AuditList: {
            data: components["schemas"]["AuditEntry"][];
            next_cursor: string | null;
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
            /**
             * @description By the name of a tool, whether a person must approve each call of it. It goes before
             *     the `approval` of the tool's source.
             */
            approvals?: {
                [key: string]: "always" | "never";
            };
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
        /** @description A source of tools that a project declares once. */
        SharedTool: {
            /** @enum {string} */
            object: "tool";
            key: string;
            source: components["schemas"]["ToolSource"];
            openapi?: components["schemas"]["OpenAPISource"];
            mcp?: components["schemas"]["MCPSource"];
            web_search?: components["schemas"]["WebSearchSource"];
            /** @description Whether it keeps a secret. */
            has_secret: boolean;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        /**
         * @description Which of the blocks openapi, mcp and web_search it has.
         * @enum {string}
         */
        ToolSource: "openapi" | "mcp" | "web_search";
        ToolList: {
            data: components["schemas"]["SharedTool"][];
        };
        ToolCreate: {
            /** @description 1 to 63 of a-z, 0-9, - and _, starting with a letter or digit. */
            key: string;
            source: components["schemas"]["ToolSource"];
            openapi?: components["schemas"]["OpenAPISource"];
            mcp?: components["schemas"]["MCPSource"];
            web_search?: components["schemas"]["WebSearchSource"];
            /** @description What its calls prove themselves with. Never returned. */
            secret?: string;
        };
        /** @description A merge patch of what ToolCreate has but the key; the result must be a whole shared tool. */
        ToolPatch: {
            [key: string]: unknown;
        };
        ToolOffer: {
            data: components["schemas"]["OfferedTool"][];
        };
        OfferedTool: {
            name: string;
            description: string;
            /** @description JSON Schema of its arguments. */
            parameters: {
                [key: string]: unknown;
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
            /** @description How long a background run may work, and be queued at a time. Default 15. While it waits for a person the clock stands still. */
            background_max_duration_minutes?: number;
            /**
             * @description What a request without background gets. Default sync.
             * @enum {string}
             */
            default_mode?: "sync" | "background";
            /**
             * @description How long an approval or a question stays open. The model is then told that nobody
             *     decided in time, and the turn goes on. Default 0: for ever.
             */
            action_expiry_seconds?: number;
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
            /** @description The agent's key; empty: a thread that no run has answered yet. */
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
            /** @description Empty: it came without a run, with the context of a conversation or posted to a thread. */
            run_id: string;
            /** @enum {string} */
            role: "system" | "user" | "assistant";
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
            /** @description Empty: see Message. */
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
                role: "system" | "user" | "assistant";
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
            /**
             * Format: date-time
             * @description Null: never.
             */
            expires_at: string | null;
        };
        ActionPage: {
            data: components["schemas"]["Action"][];
            next_cursor: string | null;
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
            /** @description Queue the turn as a background run. Default the agent's default_mode. */
            background?: boolean | null;
            /**
             * @description With `background` only: is told of the run's pauses and its end, in place of the
             *     agent's own. A public http or https address; redirects are not followed.
             */
            callback_url?: string | null;
            /**
             * @description Signs what is sent, by the Standard Webhooks rules: `whsec_` and base64, or the key
             *     as it is. Kept encrypted and never shown.
             */
            callback_secret?: string | null;
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
            /** @description Of a background run, but in the events of a stream. */
            run?: components["schemas"]["RunSummary"];
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
            /** @description Of a background run, but in the events of a stream. */
            run?: components["schemas"]["RunSummary"];
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
        /** @enum {string} */
        RunStatus: "queued" | "running" | "requires_action" | "succeeded" | "failed" | "canceled";
        RunError: {
            /** @enum {string} */
            type: "agent_error" | "worker_lost" | "max_duration_exceeded" | "canceled_by_caller" | "precondition_failed";
            message: string;
        };
        /** @description A background run without its result. */
        RunSummary: {
            id: string;
            /** @enum {string} */
            object: "agent.run";
            status: components["schemas"]["RunStatus"];
            /** @description The agent's key. */
            agent: string;
            /** @description Version of the agent; 0: the draft. */
            version: number;
            conversation_id: string;
            /** @description Why it did not succeed, once it has ended. */
            error: null | components["schemas"]["RunError"];
            /** @description cancelled, or limit where a limit of the agent ended it. */
            stop_reason: string | null;
            /** Format: int64 */
            created_at: number;
            /** Format: int64 */
            started_at: number | null;
            /** Format: int64 */
            completed_at: number | null;
            /** Format: int64 */
            cancel_requested_at: number | null;
            /**
             * Format: int64
             * @description How long it may work, and be queued at a time.
             */
            max_duration_ms: number;
            callback: null | components["schemas"]["RunCallback"];
        };
        Run: {
            id: string;
            /** @enum {string} */
            object: "agent.run";
            status: components["schemas"]["RunStatus"];
            /** @description The agent's key. */
            agent: string;
            /** @description Version of the agent; 0: the draft. */
            version: number;
            conversation_id: string;
            /** @description Why it did not succeed, once it has ended. */
            error: null | components["schemas"]["RunError"];
            /** @description cancelled, or limit where a limit of the agent ended it. */
            stop_reason: string | null;
            /** Format: int64 */
            created_at: number;
            /** Format: int64 */
            started_at: number | null;
            /** Format: int64 */
            completed_at: number | null;
            /** Format: int64 */
            cancel_requested_at: number | null;
            /**
             * Format: int64
             * @description How long it may work, and be queued at a time.
             */
            max_duration_ms: number;
            callback: null | components["schemas"]["RunCallback"];
            /**
             * @description The response, of id `resp_{run_id}`, once the run has ended, however that was: of a
             *     run that was canceled or failed it holds what had been written.
             */
            result: null | components["schemas"]["Response"];
            /** @description What a run in requires_action waits for. */
            required_actions?: components["schemas"]["RequiredAction"][];
            /** @description Of a cancel with wait_ms: there is nothing left to wait for. */
            done?: boolean;
            stop_status?: components["schemas"]["StopStatus"];
        };
        ResponseOrRun: components["schemas"]["Response"] | components["schemas"]["Run"];
        RunList: {
            data: components["schemas"]["RunSummary"][];
            next_cursor: string | null;
        };
        ResponseEvent: components["schemas"]["LifecycleEvent"] | components["schemas"]["ItemEvent"] | components["schemas"]["PartEvent"] | components["schemas"]["OutputTextDeltaEvent"] | components["schemas"]["OutputTextDoneEvent"] | components["schemas"]["SummaryPartEvent"] | components["schemas"]["SummaryTextDeltaEvent"] | components["schemas"]["SummaryTextDoneEvent"] | components["schemas"]["McpCallEvent"] | components["schemas"]["McpArgumentsDeltaEvent"] | components["schemas"]["McpArgumentsDoneEvent"];
        LifecycleEvent: {
            /** @enum {string} */
            type: "response.created" | "response.queued" | "response.in_progress" | "response.completed" | "response.incomplete" | "response.failed";
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
        ChatRequest: {
            /** @description The agent's key. */
            model: string;
            messages: components["schemas"]["ChatMessage"][];
            /** @description Goes on with this conversation. */
            conversation_id?: string | null;
            /** @description Version of the agent, 0: the draft; default: the published one. */
            version?: number | null;
            stream?: boolean | null;
            stream_options?: {
                /** @description A last chunk with the usage and no choices. */
                include_usage?: boolean | null;
                include_obfuscation?: components["schemas"]["Ignored"];
            } | null;
            temperature?: number | null;
            top_p?: number | null;
            max_completion_tokens?: number | null;
            /** @description An older name of max_completion_tokens. */
            max_tokens?: number | null;
            metadata?: components["schemas"]["Metadata"];
            /** @enum {integer|null} */
            n?: 1 | null;
            /** @description An agent has its own tools. */
            tools?: unknown[] | null;
            /** @enum {string|null} */
            tool_choice?: "auto" | "none" | null;
            functions?: unknown[] | null;
            /** @enum {string|null} */
            function_call?: "auto" | "none" | null;
            response_format?: {
                /** @enum {string} */
                type: "text";
            } | null;
            modalities?: "text"[] | null;
            stop?: unknown[] | null;
            /** @enum {boolean|null} */
            logprobs?: false | null;
            /** @enum {integer|null} */
            top_logprobs?: 0 | null;
            logit_bias?: Record<string, unknown> | null;
            /** @enum {number|null} */
            presence_penalty?: 0 | null;
            /** @enum {number|null} */
            frequency_penalty?: 0 | null;
            store?: components["schemas"]["Ignored"];
            user?: components["schemas"]["Ignored"];
            seed?: components["schemas"]["Ignored"];
            service_tier?: components["schemas"]["Ignored"];
            reasoning_effort?: components["schemas"]["Ignored"];
            verbosity?: components["schemas"]["Ignored"];
            parallel_tool_calls?: components["schemas"]["Ignored"];
            prompt_cache_key?: components["schemas"]["Ignored"];
            prompt_cache_retention?: components["schemas"]["Ignored"];
            safety_identifier?: components["schemas"]["Ignored"];
        };
        Metadata: {
            [key: string]: string;
        } | null;
        /** @description Of a list that goes with a conversation_id only the last user message is looked at. */
        ChatMessage: {
            /** @description system, developer, user or assistant */
            role: string;
        };
        ChatEvent: components["schemas"]["ChatChunk"] | components["schemas"]["Error"];
        ChatChunk: {
            /** @description chatcmpl-{run_id}, in all chunks of a stream */
            id: string;
            /** @enum {string} */
            object: "chat.completion.chunk";
            /** Format: int64 */
            created: number;
            model: string;
            conversation_id: string;
            choices: components["schemas"]["ChatChunkChoice"][];
            usage?: components["schemas"]["ChatUsage"];
            /**
             * @description Why a turn ended early.
             * @enum {string}
             */
            stop_reason?: "cancelled" | "limit" | "paused";
            stop_detail?: string;
            required_actions?: components["schemas"]["RequiredAction"][];
        };
        ChatChunkChoice: {
            /** @enum {integer} */
            index: 0;
            delta: components["schemas"]["ChatDelta"];
            finish_reason: components["schemas"]["ChatFinishReason"];
        };
        ChatDelta: {
            /** @enum {string} */
            role?: "assistant";
            content?: string;
        };
        /** @enum {string|null} */
        ChatFinishReason: "stop" | "length" | null;
        ChatUsage: {
            /** Format: int64 */
            prompt_tokens: number;
            /** Format: int64 */
            completion_tokens: number;
            /** Format: int64 */
            total_tokens: number;
            prompt_tokens_details: components["schemas"]["InputTokensDetailsOfChat"];
            completion_tokens_details: components["schemas"]["OutputTokensDetails"];
            /** @description A provider sent no figures for some of it. */
            estimated?: boolean;
        };
        InputTokensDetailsOfChat: {
            /** Format: int64 */
            cached_tokens: number;
        };
        ChatCompletion: {
            id: string;
            /** @enum {string} */
            object: "chat.completion";
            /** Format: int64 */
            created: number;
            model: string;
            conversation_id: string;
            choices: components["schemas"]["ChatChoice"][];
            usage: components["schemas"]["ChatUsage"];
            /**
             * @description Why a turn ended early.
             * @enum {string}
             */
            stop_reason?: "cancelled" | "limit" | "paused";
            stop_detail?: string;
            required_actions?: components["schemas"]["RequiredAction"][];
        };
        ChatChoice: {
            /** @enum {integer} */
            index: 0;
            message: components["schemas"]["ChatAnswer"];
            logprobs: null;
            /** @enum {string} */
            finish_reason: "stop" | "length";
        };
        ChatAnswer: {
            /** @enum {string} */
            role: "assistant";
            content: string;
            refusal: null;
        };
        AssistantsFormat: null | "auto" | {
            /** @enum {string} */
            type: "text";
        };
        AssistantRequest: {
            /** @description Of the agent; default: a new one. */
            key?: string | null;
            /** @description The key of a model. */
            model: string | null;
            name?: string | null;
            instructions?: string | null;
            temperature?: number | null;
            top_p?: number | null;
            description?: string | null;
            metadata?: Record<string, unknown> | null;
            /** @description Tools are declared for the agent. */
            tools?: unknown[] | null;
            tool_resources?: Record<string, unknown> | null;
            response_format?: components["schemas"]["AssistantsFormat"];
            reasoning_effort?: components["schemas"]["Ignored"];
        };
        AssistantPatch: {
            /** @description Of the agent; default: a new one. */
            key?: string | null;
            /** @description The key of a model. */
            model?: string | null;
            name?: string | null;
            instructions?: string | null;
            temperature?: number | null;
            top_p?: number | null;
            description?: string | null;
            metadata?: Record<string, unknown> | null;
            /** @description Tools are declared for the agent. */
            tools?: unknown[] | null;
            tool_resources?: Record<string, unknown> | null;
            response_format?: components["schemas"]["AssistantsFormat"];
            reasoning_effort?: components["schemas"]["Ignored"];
        };
        Assistant: {
            id: string;
            /** @enum {string} */
            object: "assistant";
            /** Format: int64 */
            created_at: number;
            name: string | null;
            description: null;
            model: string;
            /** @description For callers with agent.view. */
            instructions: string | null;
            tools: components["schemas"]["Empty"][];
            tool_resources: null;
            metadata: components["schemas"]["KeptMetadata"];
            /** Format: double */
            temperature: number | null;
            /** Format: double */
            top_p: number | null;
            /** @enum {string} */
            response_format: "auto";
        };
        KeptMetadata: {
            [key: string]: string;
        };
        AssistantList: {
            /** @enum {string} */
            object: "list";
            data: components["schemas"]["Assistant"][];
            first_id: string | null;
            last_id: string | null;
            has_more: boolean;
        };
        Deleted: {
            id: string;
            /** @enum {string} */
            object: "assistant.deleted" | "thread.deleted";
            deleted: boolean;
        };
        ThreadRequest: {
            messages?: components["schemas"]["ThreadMessageRequest"][] | null;
            metadata?: components["schemas"]["Metadata"];
            tool_resources?: Record<string, unknown> | null;
        };
        ThreadPatch: {
            metadata?: components["schemas"]["Metadata"];
            tool_resources?: Record<string, unknown> | null;
        };
        Thread: {
            id: string;
            /** @enum {string} */
            object: "thread";
            /** Format: int64 */
            created_at: number;
            metadata: components["schemas"]["KeptMetadata"];
            tool_resources: null;
        };
        ThreadMessageRequest: {
            /** @enum {string} */
            role: "user" | "assistant";
            content: string | {
                /** @enum {string} */
                type: "text";
                text: string;
            }[];
            attachments?: unknown[] | null;
            metadata?: Record<string, unknown> | null;
        };
        ThreadMessage: {
            id: string;
            /** @enum {string} */
            object: "thread.message";
            /** Format: int64 */
            created_at: number;
            thread_id: string;
            /** @enum {string} */
            status: "in_progress" | "incomplete" | "completed";
            incomplete_details: null | components["schemas"]["IncompleteMessage"];
            /** Format: int64 */
            completed_at: number | null;
            /** Format: int64 */
            incomplete_at: number | null;
            /** @enum {string} */
            role: "user" | "assistant";
            content: components["schemas"]["ThreadText"][];
            assistant_id: string | null;
            /** @description The run that wrote it. */
            run_id: string | null;
            attachments: components["schemas"]["Empty"][];
            metadata: components["schemas"]["KeptMetadata"];
        };
        IncompleteMessage: {
            /** @enum {string} */
            reason: "run_cancelled" | "max_tokens" | "run_failed";
        };
        ThreadText: {
            /** @enum {string} */
            type: "text";
            text: components["schemas"]["ThreadTextValue"];
        };
        ThreadTextValue: {
            value: string;
            annotations: components["schemas"]["Empty"][];
        };
        ThreadMessageList: {
            /** @enum {string} */
            object: "list";
            data: components["schemas"]["ThreadMessage"][];
            first_id: string | null;
            last_id: string | null;
            has_more: boolean;
        };
        ThreadRunRequest: {
            assistant_id: string;
            stream?: boolean | null;
            /** @description Instead of the agent's. */
            instructions?: string | null;
            temperature?: number | null;
            top_p?: number | null;
            /** @description Of all its model calls together. */
            max_completion_tokens?: number | null;
            max_prompt_tokens?: null;
            metadata?: components["schemas"]["Metadata"];
            /** @description An assistant has its own model. */
            model?: null;
            /** @description An agent has its own tools. */
            tools?: unknown[] | null;
            tool_resources?: Record<string, unknown> | null;
            /** @enum {string|null} */
            tool_choice?: "auto" | "none" | null;
            response_format?: components["schemas"]["AssistantsFormat"];
            truncation_strategy?: {
                /** @enum {string} */
                type?: "auto";
                last_messages?: null;
            } | null;
            parallel_tool_calls?: components["schemas"]["Ignored"];
            reasoning_effort?: components["schemas"]["Ignored"];
            /** @description After those. */
            additional_instructions?: string | null;
            /** @description Added to the thread before the run. */
            additional_messages?: components["schemas"]["ThreadMessageRequest"][] | null;
        };
        ThreadAndRunRequest: {
            thread?: components["schemas"]["ThreadRequest"];
            assistant_id: string;
            stream?: boolean | null;
            /** @description Instead of the agent's. */
            instructions?: string | null;
            temperature?: number | null;
            top_p?: number | null;
            /** @description Of all its model calls together. */
            max_completion_tokens?: number | null;
            max_prompt_tokens?: null;
            metadata?: components["schemas"]["Metadata"];
            /** @description An assistant has its own model. */
            model?: null;
            /** @description An agent has its own tools. */
            tools?: unknown[] | null;
            tool_resources?: Record<string, unknown> | null;
            /** @enum {string|null} */
            tool_choice?: "auto" | "none" | null;
            response_format?: components["schemas"]["AssistantsFormat"];
            truncation_strategy?: {
                /** @enum {string} */
                type?: "auto";
                last_messages?: null;
            } | null;
            parallel_tool_calls?: components["schemas"]["Ignored"];
            reasoning_effort?: components["schemas"]["Ignored"];
        };
        /** @enum {string} */
        ThreadRunStatus: "queued" | "in_progress" | "requires_action" | "cancelling" | "cancelled" | "completed" | "failed" | "incomplete" | "expired";
        ThreadRun: {
            /** @description run_{run_id} */
            id: string;
            /** @enum {string} */
            object: "thread.run";
            /** Format: int64 */
            created_at: number;
            thread_id: string;
            assistant_id: string;
            status: components["schemas"]["ThreadRunStatus"];
            /** Format: int64 */
            started_at: number | null;
            expires_at: null;
            /** Format: int64 */
            cancelled_at: number | null;
            /** Format: int64 */
            failed_at: number | null;
            /** Format: int64 */
            completed_at: number | null;
            /** Format: int64 */
            incomplete_at: number | null;
            incomplete_details: null | components["schemas"]["IncompleteRun"];
            last_error: null | components["schemas"]["ResponseError"];
            /** @description What a person has to decide is in required_actions: no client should. */
            required_action: null;
            required_actions?: components["schemas"]["RequiredAction"][];
            model: string;
            /** @description For callers with agent.view, else empty. */
            instructions: string;
            tools: components["schemas"]["Empty"][];
            metadata: components["schemas"]["KeptMetadata"];
            usage: null | components["schemas"]["ThreadRunUsage"];
            /** Format: double */
            temperature: number | null;
            /** Format: double */
            top_p: number | null;
            max_prompt_tokens: null;
            /** Format: int64 */
            max_completion_tokens: number | null;
            truncation_strategy: components["schemas"]["TruncationStrategy"];
            /** @enum {string} */
            response_format: "auto";
            /** @enum {string} */
            tool_choice: "auto";
            parallel_tool_calls: boolean;
        };
        StoppedThreadRun: {
            /** @description run_{run_id} */
            id: string;
            /** @enum {string} */
            object: "thread.run";
            /** Format: int64 */
            created_at: number;
            thread_id: string;
            assistant_id: string;
            status: components["schemas"]["ThreadRunStatus"];
            /** Format: int64 */
            started_at: number | null;
            expires_at: null;
            /** Format: int64 */
            cancelled_at: number | null;
            /** Format: int64 */
            failed_at: number | null;
            /** Format: int64 */
            completed_at: number | null;
            /** Format: int64 */
            incomplete_at: number | null;
            incomplete_details: null | components["schemas"]["IncompleteRun"];
            last_error: null | components["schemas"]["ResponseError"];
            /** @description What a person has to decide is in required_actions: no client should. */
            required_action: null;
            required_actions?: components["schemas"]["RequiredAction"][];
            model: string;
            /** @description For callers with agent.view, else empty. */
            instructions: string;
            tools: components["schemas"]["Empty"][];
            metadata: components["schemas"]["KeptMetadata"];
            usage: null | components["schemas"]["ThreadRunUsage"];
            /** Format: double */
            temperature: number | null;
            /** Format: double */
            top_p: number | null;
            max_prompt_tokens: null;
            /** Format: int64 */
            max_completion_tokens: number | null;
            truncation_strategy: components["schemas"]["TruncationStrategy"];
            /** @enum {string} */
            response_format: "auto";
            /** @enum {string} */
            tool_choice: "auto";
            parallel_tool_calls: boolean;
            /** @description With wait_ms. */
            done?: boolean;
            stop_status?: components["schemas"]["StopStatus"];
        };
        IncompleteRun: {
            /** @description The limit that was reached. */
            reason: string;
        };
        TruncationStrategy: {
            /** @enum {string} */
            type: "auto";
            last_messages: null;
        };
        ThreadRunUsage: {
            /** Format: int64 */
            prompt_tokens: number;
            /** Format: int64 */
            completion_tokens: number;
            /** Format: int64 */
            total_tokens: number;
            estimated?: boolean;
        };
        ThreadRunList: {
            /** @enum {string} */
            object: "list";
            data: components["schemas"]["ThreadRun"][];
            first_id: string | null;
            last_id: string | null;
            has_more: boolean;
        };
        RunStepList: {
            /** @enum {string} */
            object: "list";
            data: components["schemas"]["Empty"][];
            first_id: string | null;
            last_id: string | null;
            has_more: boolean;
        };
        AssistantsEvent: components["schemas"]["Thread"] | components["schemas"]["ThreadRun"] | components["schemas"]["ThreadMessage"] | components["schemas"]["ThreadMessageDelta"];
        ThreadMessageDelta: {
            id: string;
            /** @enum {string} */
            object: "thread.message.delta";
            delta: {
                content: {
                    /** @enum {integer} */
                    index: 0;
                    /** @enum {string} */
                    type: "text";
                    text: components["schemas"]["ThreadTextValue"];
                }[];
            };
        };
        A2AAnswer: {
            /** @enum {string} */
            jsonrpc: "2.0";
            /** @description A string, a number or null, as it was asked with. */
            id: unknown;
            result?: unknown;
            error?: {
                code: number;
                message: string;
                data?: unknown;
            };
        } & (unknown | unknown);
        A2ACard: {
            name: string;
            description: string;
            version: string;
            capabilities: Record<string, unknown>;
            skills: Record<string, unknown>[];
            defaultInputModes: string[];
            defaultOutputModes: string[];
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
        /** @description Key of an agent. */
        A2AAgent: string;
        /** @description Version of the protocol; none is 0.3. */
        A2AVersion: string;
        AgentKey: string;
        ToolKey: string;
        /** @description true: store it without opening it, for a server that is not there yet. */
        Unchecked: boolean;
        ConversationId: string;
        /**
         * @description `resp_{conversation_id}` (its newest turn), `run_{run_id}` or `resp_{run_id}`; a run
         *     is looked for first.
         */
        ResponseId: string;
        /** @description Bare, `run_{run_id}` or `resp_{run_id}`. */
        RunId: string;
        /**
         * @description With background runs only. Sent again within 24 hours by the same token, the same
         *     request begins nothing and is answered with the run as it is then, 200; another
         *     request with the same key is 409 `idempotency_key_conflict`.
         */
        IdempotencyKey: string;
        /** @description Wait up to so many milliseconds for the end. In the body it is the same. */
        WaitMs: number;
        /** @description `asst_{agent key}` */
        AssistantId: string;
        /** @description `thread_{conversation_id}` */
        ThreadId: string;
        /** @description `msg_{conversation_id}_{index}` */
        ThreadMessageId: string;
        /** @description `run_{run_id}` */
        ThreadRunId: string;
        PageLimit: number;
        /** @description By age. */
        PageOrder: "asc" | "desc";
        /** @description Id of the last one of the page before. */
        PageAfter: string;
        /** @description Id of the first one of the page after. */
        PageBefore: string;
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
    listTools: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The shared tools, by key. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    createTool: {
        parameters: {
            query?: {
                /** @description true: store it without opening it, for a server that is not there yet. */
                unchecked?: components["parameters"]["Unchecked"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ToolCreate"];
            };
        };
        responses: {
            /** @description The shared tool. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SharedTool"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getTool: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: components["parameters"]["ToolKey"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The shared tool. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SharedTool"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    deleteTool: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: components["parameters"]["ToolKey"];
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
    updateTool: {
        parameters: {
            query?: {
                /** @description true: store it without opening it, for a server that is not there yet. */
                unchecked?: components["parameters"]["Unchecked"];
            };
            header?: never;
            path: {
                key: components["parameters"]["ToolKey"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ToolPatch"];
            };
        };
        responses: {
            /** @description The shared tool as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SharedTool"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    checkTool: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: components["parameters"]["ToolKey"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description The tools that a model would be offered. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolOffer"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    createAgentResponse: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description With background runs only. Sent again within 24 hours by the same token, the same
                 *     request begins nothing and is answered with the run as it is then, 200; another
                 *     request with the same key is 409 `idempotency_key_conflict`.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: components["requestBodies"]["Ask"];
        responses: {
            /**
             * @description The response, or the stream of its events, each `data` line of which is one
             *     ResponseEvent; or the run that the same request with the same `Idempotency-Key`
             *     began before.
             */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResponseOrRun"];
                    "text/event-stream": components["schemas"]["ResponseEvent"];
                };
            };
            /** @description The background run, queued. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    createResponse: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description With background runs only. Sent again within 24 hours by the same token, the same
                 *     request begins nothing and is answered with the run as it is then, 200; another
                 *     request with the same key is 409 `idempotency_key_conflict`.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: components["requestBodies"]["Ask"];
        responses: {
            200: components["responses"]["Answer"];
            /** @description The response of a background run, queued. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Response"];
                };
            };
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
    createChatCompletion: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatRequest"];
            };
        };
        responses: {
            /** @description The completion, or the stream of its chunks; each `data` line of the stream is one ChatEvent, the last `[DONE]`. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatCompletion"];
                    "text/event-stream": components["schemas"]["ChatEvent"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listAssistants: {
        parameters: {
            query?: {
                limit?: components["parameters"]["PageLimit"];
                /** @description By age. */
                order?: components["parameters"]["PageOrder"];
                /** @description Id of the last one of the page before. */
                after?: components["parameters"]["PageAfter"];
                /** @description Id of the first one of the page after. */
                before?: components["parameters"]["PageBefore"];
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
                    "application/json": components["schemas"]["AssistantList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    createAssistant: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssistantRequest"];
            };
        };
        responses: {
            /** @description The assistant. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Assistant"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getAssistant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `asst_{agent key}` */
                assistant: components["parameters"]["AssistantId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The assistant. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Assistant"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    updateAssistant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `asst_{agent key}` */
                assistant: components["parameters"]["AssistantId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssistantPatch"];
            };
        };
        responses: {
            /** @description The assistant as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Assistant"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    deleteAssistant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `asst_{agent key}` */
                assistant: components["parameters"]["AssistantId"];
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
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    createThread: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ThreadRequest"];
            };
        };
        responses: {
            /** @description The thread. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Thread"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    createThreadAndRun: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ThreadAndRunRequest"];
            };
        };
        responses: {
            /** @description The run as it ended, or the stream. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThreadRun"];
                    "text/event-stream": components["schemas"]["AssistantsEvent"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getThread: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The thread. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Thread"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    updateThread: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ThreadPatch"];
            };
        };
        responses: {
            /** @description The thread as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Thread"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    deleteThread: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
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
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listThreadMessages: {
        parameters: {
            query?: {
                limit?: components["parameters"]["PageLimit"];
                /** @description By age. */
                order?: components["parameters"]["PageOrder"];
                /** @description Id of the last one of the page before. */
                after?: components["parameters"]["PageAfter"];
                /** @description Id of the first one of the page after. */
                before?: components["parameters"]["PageBefore"];
            };
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
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
                    "application/json": components["schemas"]["ThreadMessageList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    createThreadMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ThreadMessageRequest"];
            };
        };
        responses: {
            /** @description The message. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThreadMessage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getThreadMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
                /** @description `msg_{conversation_id}_{index}` */
                message: components["parameters"]["ThreadMessageId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The message. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThreadMessage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    updateThreadMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
                /** @description `msg_{conversation_id}_{index}` */
                message: components["parameters"]["ThreadMessageId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            default: components["responses"]["Refused"];
        };
    };
    deleteThreadMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
                /** @description `msg_{conversation_id}_{index}` */
                message: components["parameters"]["ThreadMessageId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            default: components["responses"]["Refused"];
        };
    };
    listThreadRuns: {
        parameters: {
            query?: {
                limit?: components["parameters"]["PageLimit"];
                /** @description By age. */
                order?: components["parameters"]["PageOrder"];
                /** @description Id of the last one of the page before. */
                after?: components["parameters"]["PageAfter"];
                /** @description Id of the first one of the page after. */
                before?: components["parameters"]["PageBefore"];
            };
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
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
                    "application/json": components["schemas"]["ThreadRunList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    createRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ThreadRunRequest"];
            };
        };
        responses: {
            /** @description The run as it ended, or the stream; each `data` line is one AssistantsEvent, the last `[DONE]`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThreadRun"];
                    "text/event-stream": components["schemas"]["AssistantsEvent"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getThreadRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
                /** @description `run_{run_id}` */
                run: components["parameters"]["ThreadRunId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThreadRun"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    updateThreadRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
                /** @description `run_{run_id}` */
                run: components["parameters"]["ThreadRunId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            default: components["responses"]["Refused"];
        };
    };
    cancelThreadRun: {
        parameters: {
            query?: {
                /** @description Wait up to so many milliseconds for the end. In the body it is the same. */
                wait_ms?: components["parameters"]["WaitMs"];
            };
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
                /** @description `run_{run_id}` */
                run: components["parameters"]["ThreadRunId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["StopRequest"];
            };
        };
        responses: {
            /** @description The run that was told to stop. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoppedThreadRun"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listRunSteps: {
        parameters: {
            query?: {
                limit?: components["parameters"]["PageLimit"];
                /** @description By age. */
                order?: components["parameters"]["PageOrder"];
                /** @description Id of the last one of the page before. */
                after?: components["parameters"]["PageAfter"];
                /** @description Id of the first one of the page after. */
                before?: components["parameters"]["PageBefore"];
            };
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
                /** @description `run_{run_id}` */
                run: components["parameters"]["ThreadRunId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description An empty page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunStepList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    submitToolOutputs: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `thread_{conversation_id}` */
                thread: components["parameters"]["ThreadId"];
                /** @description `run_{run_id}` */
                run: components["parameters"]["ThreadRunId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
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
    listRuns: {
        parameters: {
            query?: {
                /** @description Only runs of this status. */
                status?: components["schemas"]["RunStatus"];
                /** @description Only runs of this agent. */
                agent?: string;
                /** @description Only runs of this conversation. */
                conversation_id?: string;
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
            /** @description A page; runs are without their results. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Bare, `run_{run_id}` or `resp_{run_id}`. */
                id: components["parameters"]["RunId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run, with its result once it has ended. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    cancelRun: {
        parameters: {
            query?: {
                /** @description Wait up to so many milliseconds for the end. In the body it is the same. */
                wait_ms?: components["parameters"]["WaitMs"];
            };
            header?: never;
            path: {
                /** @description Bare, `run_{run_id}` or `resp_{run_id}`. */
                id: components["parameters"]["RunId"];
            };
            cookie?: never;
        };
        requestBody?: components["requestBodies"]["AskStop"];
        responses: {
            /** @description The run as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
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
    listOpenActions: {
        parameters: {
            query?: {
                /** @description Only `open` ones are listed. */
                state?: "open";
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
                    "application/json": components["schemas"]["ActionPage"];
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
    redeliverCallback: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Bare, `run_{run_id}` or `resp_{run_id}`. */
                id: components["parameters"]["RunId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description It will be sent. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunCallback"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listCallbacks: {
        parameters: {
            query?: {
                /** @description Only deliveries of this status. A dead one was given up after its last attempt. */
                status?: components["schemas"]["CallbackStatus"];
                run_id?: string;
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
                    "application/json": components["schemas"]["CallbackList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listAudit: {
        parameters: {
            query?: {
                action?: components["schemas"]["AuditAction"];
                /** @description Only what this principal did. */
                by?: string;
                conversation_id?: string;
                run_id?: string;
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
                    "application/json": components["schemas"]["AuditList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
}
