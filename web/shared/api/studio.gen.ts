// Generated from api/studio.yaml by npm run generate.

export interface paths {
    "/auth/hint": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the demo's sign-in
         * @description Answered by `belay dev` only, so that its sign-in page is filled in; else 404.
         */
        get: operations["getSignInHint"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/sign-in": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign in
         * @description 401 `invalid_credentials` for an unknown name as for a wrong password. 429
         *     `sign_in_throttled` with Retry-After after too many failures of the name or from the
         *     address. The cookie's life is renewed while it is used.
         */
        post: operations["signIn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/sign-out": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign out
         * @description Ends this sign-in. Not being signed in is no error.
         */
        post: operations["signOut"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read who is signed in */
        get: operations["getMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/project": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Go to another project
         * @description From now on this sign-in sees that project.
         */
        post: operations["selectProject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change the own password
         * @description Ends all other sign-ins of the caller. 401 `invalid_credentials` where the old one is wrong.
         */
        post: operations["changePassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/actors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Name principals
         * @description Those of the project among the ids given; others are left out.
         */
        get: operations["listActors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow everything, in one stream
         * @description One stream for all that a browser looks at, because browsers open few connections:
         *     the journals of the sessions in `follow`, the states of those in `states`, how many
         *     requests wait for a person, and with `operations` what runs where.
         *
         *     To follow something else, open a new stream with the cursors reached and close the
         *     old one: any node can serve it, and only what is new is sent. A session that can't
         *     be followed is told in the first frame and is no error. Each SSE `data` line is one
         *     StreamFrame, `event` its type; a comment is sent after at most 15 seconds of
         *     silence. When the sign-in has ended the stream says `signed_out` and ends; when it
         *     looks at another project, or the node shuts down, the stream just ends: open it
         *     again.
         */
        get: operations["stream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the project's agents, by key */
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
    "/agents/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Check an agent that is not there yet */
        post: operations["validateNewAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{agentId}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
            };
            cookie?: never;
        };
        /** Read an agent */
        get: operations["getAgent"];
        put?: never;
        post?: never;
        /**
         * Delete an agent
         * @description Deleting one that is not there is no error. Its sessions stay.
         */
        delete: operations["deleteAgent"];
        options?: never;
        head?: never;
        /**
         * Change an agent's name, status or draft
         * @description `config` is the whole draft, but for `execution.callback_secret`, which stays where it
         *     is left out. 409 `agent_changed` where `expectedUpdatedAt` is given and somebody else
         *     was faster.
         */
        patch: operations["updateAgent"];
        trace?: never;
    };
    "/agents/{agentId}/validate": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Check a draft of an agent, while it is typed */
        post: operations["validateAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{agentId}/publish": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Publish the draft, or an old version again
         * @description Makes a new version, of the draft or of an older version (a rollback); the draft
         *     stays as it is.
         */
        post: operations["publishAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{agentId}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
            };
            cookie?: never;
        };
        /** List an agent's versions, newest first */
        get: operations["listVersions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{agentId}/versions/{version}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
                version: number;
            };
            cookie?: never;
        };
        /** Read a version */
        get: operations["getVersion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List sessions, newest first
         * @description The caller's own; with `agent.session_view_others` everybody's.
         */
        get: operations["listSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{agentId}/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
            };
            cookie?: never;
        };
        /** List an agent's sessions, newest first */
        get: operations["listAgentSessions"];
        put?: never;
        /** Begin a session */
        post: operations["createSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{agentId}/sessions/{sessionId}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
                sessionId: components["parameters"]["SessionId"];
            };
            cookie?: never;
        };
        /** Read a session and its state */
        get: operations["getSession"];
        put?: never;
        post?: never;
        /**
         * Delete a session
         * @description With all that belongs to it. 409 while a turn of it is queued or runs. Deleting one
         *     that is not there is no error.
         */
        delete: operations["deleteSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{agentId}/sessions/{sessionId}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
                sessionId: components["parameters"]["SessionId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a message
         * @description Begins a turn and answers at once; the turn belongs to the server and is followed by
         *     the session's events. 409 `agent_run_conflict` with `conversation_id` and `run_id` of
         *     the turn in the way. A message to a session that waits for a person ends that turn
         *     as cancelled.
         */
        post: operations["sendMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{agentId}/sessions/{sessionId}/transcript": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
                sessionId: components["parameters"]["SessionId"];
            };
            cookie?: never;
        };
        /**
         * Read a session's events without deltas, newest page first
         * @description The newest `limit` events, in order, or those below `before`. The pieces of texts and
         *     tool outputs are left out: messages and results repeat them whole. Follow from
         *     `followAfter` to go on, with no gap and nothing twice: where a turn runs, the page
         *     ends before the step that is being written, and its pieces come by the follow.
         */
        get: operations["getTranscript"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{agentId}/sessions/{sessionId}/events": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
                sessionId: components["parameters"]["SessionId"];
            };
            cookie?: never;
        };
        /**
         * Read or follow a session's events
         * @description A page, or with `Accept: text/event-stream` all events above the cursor and then live
         *     ones, across turns. The SSE `id` is the event's `seq`, `event` its `type`;
         *     `Last-Event-ID` goes before `after`. Browsers use `/stream`.
         */
        get: operations["followSession"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{agentId}/sessions/{sessionId}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
                sessionId: components["parameters"]["SessionId"];
            };
            cookie?: never;
        };
        /** List a session's turns, newest first */
        get: operations["listSessionRuns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{agentId}/sessions/{sessionId}/cancel": {
        parameters: {
            query?: {
                /** @description Wait up to so many milliseconds for the end. In the body it is the same. */
                wait_ms?: components["parameters"]["WaitMs"];
            };
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
                sessionId: components["parameters"]["SessionId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop what runs in a session
         * @description Whatever door it was begun through. Answers when the turn has been told to stop, not
         *     when it has ended; `wait_ms` waits for the end. That nothing runs is no error.
         */
        post: operations["cancelSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List background runs, newest first
         * @description Those of the caller's sessions; with `agent.session_view_others` everybody's. `counts`
         *     are of all that the filter leaves but for its `state`.
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
    "/agents/{agentId}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
            };
            cookie?: never;
        };
        /** List an agent's background runs, newest first */
        get: operations["listAgentRuns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{runId}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                runId: components["parameters"]["RunId"];
            };
            cookie?: never;
        };
        /**
         * Read a turn, background or not
         * @description With its model calls, its tools, and who stopped it and how long that took.
         */
        get: operations["getRun"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{runId}/cancel": {
        parameters: {
            query?: {
                /** @description Wait up to so many milliseconds for the end. In the body it is the same. */
                wait_ms?: components["parameters"]["WaitMs"];
            };
            header?: never;
            path: {
                runId: components["parameters"]["RunId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop a turn, background or not
         * @description Only this one. A queued one never starts. One that has ended is no error, and `cancelled` false.
         */
        post: operations["cancelRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{runId}/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                runId: components["parameters"]["RunId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send the newest event of a run's callback again
         * @description 409 `agent_run_no_callback` where there is none, or nothing to tell yet.
         */
        post: operations["redeliverRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The inbox of approvals and questions, newest first
         * @description Those of the caller's sessions; with `agent.approve` or `agent.session_view_others`
         *     everybody's.
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
    "/actions/{actionId}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                actionId: components["parameters"]["ActionId"];
            };
            cookie?: never;
        };
        /**
         * Read an approval or question
         * @description As in the inbox, `agent.approve` is enough to read it.
         */
        get: operations["getAction"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/actions/{actionId}/decision": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                actionId: components["parameters"]["ActionId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Decide an approval or answer a question
         * @description An approval needs `agent.approve` instead. An equal decision is 200 again, another one
         *     409 `action_already_decided` with `state`. When all actions of a turn are decided it
         *     goes on by itself.
         */
        post: operations["decideAction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the project's API tokens, newest first */
        get: operations["listTokens"];
        put?: never;
        /**
         * Make an API token
         * @description Its permissions are among the caller's own, else 403 naming the first that is not.
         */
        post: operations["createToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tokens/{tokenId}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tokenId: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a token
         * @description From the next request on it is refused.
         */
        delete: operations["revokeToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the project's members, by e-mail */
        get: operations["listMembers"];
        put?: never;
        /**
         * Add a member
         * @description Somebody who has no account gets one, with the password given or one that is made up
         *     and shown this once. 409 `already_exists` for who is a member already.
         */
        post: operations["addMember"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/members/{userId}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: components["parameters"]["UserId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a member
         * @description 409 `last_owner` where nobody would own the project any more. Removing who is no member is no error.
         */
        delete: operations["removeMember"];
        options?: never;
        head?: never;
        /**
         * Give a member another role
         * @description 409 `last_owner` where nobody would own the project any more.
         */
        patch: operations["updateMember"];
        trace?: never;
    };
    "/members/{userId}/password": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: components["parameters"]["UserId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give a member a new password
         * @description It is made up and shown this once, and ends all of the member's sign-ins. 409
         *     `member_elsewhere` where the account is a member of another project too: its owner
         *     changes it.
         */
        post: operations["resetPassword"];
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
        /** List the project's models, by key */
        get: operations["listModels"];
        put?: never;
        /** Add a model */
        post: operations["createModel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/models/{modelKey}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                modelKey: string;
            };
            cookie?: never;
        };
        /** Read a model */
        get: operations["getModel"];
        /** Change a model */
        put: operations["replaceModel"];
        post?: never;
        /**
         * Delete a model
         * @description 409 `model_in_use` while an agent's draft or published version names it. Deleting one that is not there is no error.
         */
        delete: operations["deleteModel"];
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
        /** List the project's shared tools, by key */
        get: operations["listTools"];
        put?: never;
        /**
         * Add a shared tool
         * @description It is opened first, as a turn would; 400 says what is wrong with it.
         */
        post: operations["createTool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tools/{toolKey}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                toolKey: string;
            };
            cookie?: never;
        };
        /** Read a shared tool */
        get: operations["getTool"];
        /**
         * Change a shared tool
         * @description It is opened first, as with the making of one. 409 `changed` where somebody else was faster.
         */
        put: operations["replaceTool"];
        post?: never;
        /**
         * Delete a shared tool
         * @description 409 `tool_in_use` while an agent or another tool needs it. Deleting one that is not there is no error.
         */
        delete: operations["deleteTool"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tools/{toolKey}/check": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                toolKey: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Open a shared tool, to see what it offers */
        post: operations["checkTool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/portals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the project's portals, by slug */
        get: operations["listPortals"];
        put?: never;
        /**
         * Show an agent to visitors
         * @description 409 `already_exists` where the slug is taken, by another project too.
         */
        post: operations["createPortal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/portals/{slug}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                slug: string;
            };
            cookie?: never;
        };
        /** Read a portal */
        get: operations["getPortal"];
        /** Change a portal */
        put: operations["replacePortal"];
        post?: never;
        /**
         * Delete a portal
         * @description Its visitors' conversations stay with the project. Deleting one that is not there is no error.
         */
        delete: operations["deletePortal"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What model calls used and cost */
        get: operations["getUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/usage/outcomes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How turns ended, by day */
        get: operations["getOutcomes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read who did what, newest first */
        get: operations["listAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/operations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What runs where */
        get: operations["getOperations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/operations/stop-latency": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How long stops took
         * @description From the moment a stop was recorded to the end of its turn, of the project's turns
         *     that a stop ended. Turns that nobody ran when they were stopped end in the same
         *     instant and are not in it.
         */
        get: operations["getStopLatency"];
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
        SignIn: {
            email: string;
            password: string;
        };
        PasswordChange: {
            current: string;
            new: string;
        };
        /**
         * @description owner may do everything; builder makes, publishes and runs agents and keeps models,
         *     tools, tokens and portals; operator runs agents, stops and reads all sessions,
         *     approves, and sees operations; viewer reads.
         * @enum {string}
         */
        Role: "owner" | "builder" | "operator" | "viewer";
        /** @enum {string} */
        Permission: "agent.view" | "agent.run" | "agent.manage" | "agent.publish" | "agent.session_view_others" | "agent.session_manage_others" | "agent.approve" | "token.manage" | "portal.manage" | "model.manage" | "member.manage" | "usage.view" | "operations.view";
        Me: {
            user: components["schemas"]["Actor"];
            email?: string;
            project: components["schemas"]["Membership"];
            projects: components["schemas"]["Membership"][];
            /** @description In the current project. */
            permissions: components["schemas"]["Permission"][];
            /**
             * Format: date-time
             * @description When the sign-in ends if it is not used.
             */
            expiresAt: string;
        };
        Membership: {
            id: string;
            key: string;
            role: components["schemas"]["Role"];
        };
        Actor: {
            /** @description The principal: user:…, token:…, visitor:…, or what the system calls itself. */
            id: string;
            /** @enum {string} */
            kind: "user" | "token" | "visitor" | "system";
            /** @description To be shown; the id where there is no better one. */
            name: string;
        };
        ActorList: {
            data: components["schemas"]["Actor"][];
        };
        StreamFrame: components["schemas"]["ReadyFrame"] | components["schemas"]["JournalFrame"] | components["schemas"]["StateFrame"] | components["schemas"]["InboxFrame"] | components["schemas"]["OperationsFrame"] | components["schemas"]["GoneFrame"] | components["schemas"]["SignedOutFrame"];
        /** @description The first frame. */
        ReadyFrame: {
            /** @enum {string} */
            type: "ready";
            /** @description Name of the node that serves the stream. */
            node: string;
            followed: string[];
            refused: {
                sessionId: string;
                /** @enum {string} */
                code: "agent_session_not_found" | "agent_session_forbidden";
            }[];
        };
        /** @description An event of a followed session. The SSE `id` is `sessionId:seq`. */
        JournalFrame: {
            /** @enum {string} */
            type: "journal";
            sessionId: string;
            event: components["schemas"]["Event"];
        };
        /** @description The state of a session in `states`. */
        StateFrame: {
            /** @enum {string} */
            type: "state";
            session: components["schemas"]["LiveState"];
        };
        /**
         * @description Told first and whenever the open requests that the caller can see change; read
         *     `/actions` then.
         */
        InboxFrame: {
            /** @enum {string} */
            type: "inbox";
            /** @description How many wait. */
            open: number;
            /** @description Another one says that the list is another. */
            version: string;
        };
        OperationsFrame: {
            /** @enum {string} */
            type: "operations";
            operations: components["schemas"]["Operations"];
        };
        /** @description A followed session was deleted, or may not be read any more; no more of it comes. */
        GoneFrame: {
            /** @enum {string} */
            type: "gone";
            sessionId: string;
        };
        /** @description The sign-in has ended, and with it the stream. */
        SignedOutFrame: {
            /** @enum {string} */
            type: "signed_out";
        };
        LiveState: {
            sessionId: string;
            state: components["schemas"]["SessionState"];
            runId: string | null;
            lastStatus: string | null;
            lastStopReason: string | null;
            /** Format: date-time */
            updatedAt: string;
        };
        Agent: {
            /** @description Its key. */
            id: string;
            name: string;
            status: components["schemas"]["AgentStatus"];
            config: components["schemas"]["AgentConfig"];
            hasCallbackSecret: boolean;
            /** @description The newest; null before the first. */
            publishedVersion: number | null;
            /** @description The draft is not what is published. */
            draftChanged: boolean;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        AgentList: {
            data: components["schemas"]["Agent"][];
        };
        AgentCreate: {
            /** @description Its key: 1 to 63 of a-z, 0-9, - and _, starting with a letter or digit. */
            id: string;
            name?: string;
            status?: components["schemas"]["AgentStatus"];
            config: components["schemas"]["AgentConfig"];
        };
        AgentPatch: {
            name?: string;
            status?: components["schemas"]["AgentStatus"];
            config?: components["schemas"]["AgentConfig"];
            /** @description Left out: stays. Empty: removed. */
            callbackSecret?: string;
            /**
             * Format: date-time
             * @description `updatedAt` of the agent that was edited.
             */
            expectedUpdatedAt?: string;
        };
        /** @description To be checked; anything may be wrong with it. */
        AgentDraft: {
            id?: string;
            name?: string;
            config: components["schemas"]["JSONValue"];
        };
        Validation: {
            /** @description It would be taken as it is. */
            valid: boolean;
            errors: components["schemas"]["Fault"][];
            /** @description What would be taken and can't work now, like a model that is not there. */
            warnings: components["schemas"]["Fault"][];
        };
        Fault: {
            /** @description Dotted, with indexes: config.tools[2].timeout_ms */
            field: string;
            /** @description What would be right. */
            message: string;
        };
        VersionInfo: {
            version: number;
            /** Format: date-time */
            createdAt: string;
            /** @description null where `belay apply` made it. */
            createdBy: components["schemas"]["Actor"] | null;
            /** @description It is what runs. */
            published: boolean;
        };
        VersionList: {
            data: components["schemas"]["VersionInfo"][];
        };
        Version: {
            version: number;
            /** Format: date-time */
            createdAt: string;
            createdBy: components["schemas"]["Actor"] | null;
            published: boolean;
            config: components["schemas"]["AgentConfig"];
        };
        /** @enum {string} */
        SessionState: "idle" | "queued" | "running" | "stopping" | "requires_action";
        /** @enum {string} */
        Door: "client" | "responses" | "assistants" | "chat" | "a2a" | "studio" | "portal";
        /** @enum {string} */
        StopReason: "cancelled" | "limit";
        Session: {
            id: string;
            agentId: string;
            owner: components["schemas"]["Actor"];
            door: components["schemas"]["Door"];
            title: string;
            /** @description The first message, as far as a line of a list shows it. */
            preview: string;
            state: components["schemas"]["SessionState"];
            /** @description The turn that is queued, runs or waits. */
            run: components["schemas"]["LiveRun"] | null;
            /** @description Of the newest turn. */
            lastStatus: string | null;
            lastStopReason: string | null;
            /** @description The caller may send to and stop it. */
            mayAct: boolean;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        SessionList: {
            data: components["schemas"]["Session"][];
            nextCursor: string | null;
        };
        LiveRun: {
            id: string;
            door: components["schemas"]["Door"];
            startedBy: components["schemas"]["Actor"];
            background: boolean;
            /**
             * Format: date-time
             * @description When it was asked for.
             */
            startedAt: string;
            /**
             * Format: int64
             * @description Since then, by the clock of the server.
             */
            ageMs: number;
            /** @description Name of the node that runs it. */
            node: string | null;
            /** @description Asked for, and not yet taken effect. */
            stop: components["schemas"]["Stop"] | null;
        };
        Stop: {
            by: components["schemas"]["Actor"];
            door: string;
            /** @description Name of the node that took the request. */
            node: string;
            /** @description Of a stop that nobody asked for directly: superseded, parent_stopped, parent_lost or parent_gave_up. */
            detail: string | null;
            /**
             * Format: date-time
             * @description When it was recorded.
             */
            at: string;
            /**
             * Format: int64
             * @description From then to the end of the turn; null before it.
             */
            tookMs: number | null;
            path?: components["schemas"]["StopPath"];
        };
        /**
         * @description How the node that ran the turn got to know: it took the request itself, was told by
         *     the database, or found it when it looked. other: nobody ran it any more, or it is not
         *     known.
         * @enum {string}
         */
        StopPath: "same_node" | "push" | "poll" | "other";
        MessageSend: {
            content: string;
            /** @description Run the draft: the playground. Needs agent.manage. */
            draft?: boolean;
            /** @description Run this version. Default the newest published one. */
            version?: number;
            /** @description Queue it; any node runs it. */
            background?: boolean;
        };
        Begun: {
            sessionId: string;
            runId: string;
            /**
             * Format: int64
             * @description Of the message among the session's events.
             */
            seq: number;
            /** @description Of the first message of the answer. */
            messageIndex: number;
        };
        Transcript: {
            data: components["schemas"]["Event"][];
            /**
             * Format: int64
             * @description The `before` of the next older page; null at the beginning.
             */
            nextBefore: number | null;
            /** Format: int64 */
            followAfter: number;
            state: components["schemas"]["SessionState"];
            runId: string | null;
        };
        EventPage: {
            data: components["schemas"]["Event"][];
            /** Format: int64 */
            nextAfter: number;
            state: components["schemas"]["SessionState"];
            hasMore: boolean;
        };
        StopRequest: {
            /** @description Wait up to so many milliseconds for the end. */
            waitMs?: number;
            /** @description Binds the stop to this turn; a later one is not touched. */
            runId?: string;
            /** @description The same, as the other APIs have it. */
            wait_ms?: number;
            /** @description The same, as the other APIs have it. */
            run_id?: string;
        };
        StopAnswer: {
            /** @description A turn was told to stop or ended, or open requests were withdrawn. A turn that was told ends as cancelled. */
            cancelled: boolean;
            runIds: string[];
            /** @description Open requests were answered "no". */
            cancelledActions: boolean;
            /** @description With wait_ms. */
            done?: boolean;
            stopStatus?: components["schemas"]["StopStatus"];
        };
        /**
         * @description cancelled and limited are the two ways that a turn ends incomplete.
         * @enum {string}
         */
        RunState: "queued" | "running" | "stopping" | "requires_action" | "completed" | "cancelled" | "limited" | "failed";
        Run: {
            id: string;
            sessionId: string;
            agentId: string;
            /** @description 0: the draft. */
            version: number;
            /** @description Key of the model that it was given. */
            model: string;
            door: components["schemas"]["Door"];
            startedBy: components["schemas"]["Actor"];
            background: boolean;
            state: components["schemas"]["RunState"];
            /** @description Of a limit: which. */
            stopDetail: string | null;
            stop: components["schemas"]["Stop"] | null;
            error: components["schemas"]["RunError"] | null;
            usage: components["schemas"]["Tokens"];
            /** @description Name of the node that runs it now. */
            node: string | null;
            /** @description The turn that asked for it; of a sub-agent. */
            parentRunId: string | null;
            /** @description The caller may stop it. */
            mayAct: boolean;
            /** Format: date-time */
            createdAt: string;
            /**
             * Format: date-time
             * @description null before a node has taken it.
             */
            startedAt: string | null;
            /** Format: date-time */
            endedAt: string | null;
            /** @description Of a background run; null for none. */
            callback: components["schemas"]["RunCallback"] | null;
        };
        RunCallback: {
            url: string;
            /**
             * @description Of the newest event that is told.
             * @enum {string}
             */
            status: "pending" | "delivered" | "dead";
            attempts: number;
            signed: boolean;
        };
        RunError: {
            code: string;
            message: string;
        };
        RunList: {
            data: components["schemas"]["Run"][];
            /** @description How many there are, by state; one that has none is left out. */
            counts: {
                [key: string]: number;
            };
            nextCursor: string | null;
        };
        RunDetail: {
            run: components["schemas"]["Run"];
            /** @description The requests to models, in order. */
            calls: components["schemas"]["ModelCall"][];
            /** @description In the order of their start. */
            tools: components["schemas"]["ToolRun"][];
            actions: components["schemas"]["Action"][];
        };
        Tokens: {
            /** Format: int64 */
            inputTokens: number;
            /** Format: int64 */
            cachedInputTokens: number;
            /** Format: int64 */
            outputTokens: number;
            /** Format: int64 */
            reasoningTokens: number;
            /** @description A provider did not count; we did. */
            estimated: boolean;
            /** Format: double */
            costUsd: number;
        };
        ModelCall: {
            /** @description Within the turn, from 1. */
            call: number;
            model: string;
            /** @enum {string} */
            status: "ok" | "error" | "cancelled";
            usage: components["schemas"]["Tokens"];
            /** Format: int64 */
            latencyMs: number;
            /** Format: int64 */
            firstTokenMs: number | null;
            /** Format: date-time */
            at: string;
        };
        ToolRun: {
            callId: string;
            name: string;
            source: string;
            abortable: boolean;
            /**
             * @description null while it runs.
             * @enum {string|null}
             */
            outcome: "success" | "error" | "aborted" | "dropped" | "unconfirmed" | null;
            /**
             * Format: int64
             * @description Of its start among the session's events.
             */
            seq: number;
            /** Format: date-time */
            startedAt: string;
            /** Format: int64 */
            durationMs: number | null;
            /** @description Of a sub-agent's turn. */
            childSessionId: string | null;
            childRunId: string | null;
        };
        Action: {
            id: string;
            type: components["schemas"]["ActionType"];
            state: components["schemas"]["ActionState"];
            agentId: string;
            sessionId: string;
            runId: string;
            callId: string;
            /** @description Of the tool. */
            name: string;
            /** @description Of a question: question, options, allow_free_text. */
            arguments: components["schemas"]["JSONValue"];
            answer: string | null;
            decidedBy: components["schemas"]["Actor"] | null;
            /** Format: date-time */
            decidedAt: string | null;
            /** @description It is open and the caller may decide it. */
            mayDecide: boolean;
            owner: components["schemas"]["Actor"];
            /** Format: date-time */
            createdAt: string;
            /**
             * Format: date-time
             * @description Nobody can decide it from then on; null: never.
             */
            expiresAt: string | null;
        };
        ActionList: {
            data: components["schemas"]["Action"][];
            /** @description How many are open that the caller can see. */
            open: number;
            nextCursor: string | null;
        };
        Token: {
            id: string;
            name: string;
            /** @description The first characters of its secret. */
            prefix: string;
            permissions: components["schemas"]["Permission"][];
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            expiresAt: string | null;
            /** Format: date-time */
            lastUsedAt: string | null;
            /** Format: date-time */
            revokedAt: string | null;
        };
        TokenList: {
            data: components["schemas"]["Token"][];
        };
        TokenCreate: {
            name: string;
            permissions: components["schemas"]["Permission"][];
            /**
             * Format: date-time
             * @description Left out: never.
             */
            expiresAt?: string;
        };
        TokenCreated: {
            token: components["schemas"]["Token"];
            /** @description For the header Authorization. Never shown again. */
            secret: string;
        };
        Member: {
            userId: string;
            email: string;
            name: string;
            role: components["schemas"]["Role"];
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            lastSignInAt: string | null;
        };
        MemberList: {
            data: components["schemas"]["Member"][];
        };
        MemberAdd: {
            email: string;
            name?: string;
            role: components["schemas"]["Role"];
            /** @description Of a new account. Left out: one is made up. */
            password?: string;
        };
        MemberAdded: {
            member: components["schemas"]["Member"];
            /** @description The one that was made up for a new account. Never shown again. */
            password: string | null;
        };
        Model: {
            key: string;
            config: components["schemas"]["ModelConfig"];
            hasApiKey: boolean;
            /** @description Agents whose draft or published version names it. */
            usedBy: string[];
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        ModelList: {
            data: components["schemas"]["Model"][];
        };
        /** @description As in a manifest, without its key and secret. */
        ModelConfig: {
            base_url: string;
            /** @description The provider's name of it. */
            model: string;
            /** @description Environment variable of the nodes that has the key, instead of a stored one. */
            api_key_env?: string;
            /** @description In US dollars per million tokens. */
            pricing?: {
                input?: number;
                cached_input?: number;
                output?: number;
            };
            headers?: {
                [key: string]: string;
            };
            /** @description Of a whole call. Default 600000. */
            timeout_ms?: number;
            /** @description Longest silence. Default 60000. */
            idle_timeout_ms?: number;
            /** @description Before the first byte only. Default 2. */
            retries?: number;
        };
        ModelCreate: {
            key: string;
            config: components["schemas"]["ModelConfig"];
            /** @description Kept encrypted and never shown. */
            apiKey?: string;
        };
        ModelReplace: {
            config: components["schemas"]["ModelConfig"];
            /** @description Left out: stays. Empty: removed. */
            apiKey?: string;
        };
        Tool: {
            key: string;
            config: components["schemas"]["ToolConfig"];
            hasSecret: boolean;
            /** @description Agents whose draft or published version names it. */
            usedBy: string[];
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        ToolList: {
            data: components["schemas"]["Tool"][];
            /** @description What agents can name with source function. */
            functions: components["schemas"]["Function"][];
            /** @description The operator allows MCP servers that are commands. */
            mcpCommands: boolean;
        };
        PortalConfig: {
            /** @description As in the path; may be left out of a request. */
            slug?: string;
            /** @description Whose published version answers. */
            agent: string;
            /** @description Default the agent's name. */
            title?: string;
            welcome?: string;
            /** @description Sites that may embed it, as https://example.com. */
            origins?: string[];
            /** @description Answers nobody, as if it were not there. */
            paused?: boolean;
            /**
             * @description Visitors may come unnamed.
             * @default true
             */
            anonymous: boolean;
            /** @description Visitors may decide the approvals of their own conversations. */
            approvals?: boolean;
            /** @description Shows the agent to other agents at /a2a/{slug}/, without a token. */
            a2a?: boolean;
            limits?: {
                /** @description 0: 8000 */
                message_chars?: number;
                /** @description 0: 20 */
                visitor_per_minute?: number;
                /** @description 0: 600 */
                portal_per_minute?: number;
                /** @description 0: no limit */
                visitor_usd_per_day?: number;
                /** @description 0: no limit */
                portal_usd_per_day?: number;
            };
        };
        Portal: {
            slug: string;
            config: components["schemas"]["PortalConfig"];
            /** @description Sites can name their visitors. */
            hasSecret: boolean;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        PortalList: {
            data: components["schemas"]["Portal"][];
        };
        PortalCreate: {
            slug: string;
            config: components["schemas"]["PortalConfig"];
            /** @description Signs the tokens by which a site names its visitors. */
            secret?: string;
        };
        PortalReplace: {
            config: components["schemas"]["PortalConfig"];
            /** @description Left out: the stored one stays. */
            secret?: string;
        };
        ToolOffer: {
            data: components["schemas"]["Function"][];
        };
        Function: {
            name: string;
            description: string;
        };
        /** @description As in a manifest, without its key and secret. */
        ToolConfig: {
            /** @enum {string} */
            source: "openapi" | "mcp" | "web_search";
            openapi?: components["schemas"]["OpenAPISource"];
            mcp?: components["schemas"]["MCPSource"];
            web_search?: components["schemas"]["WebSearchSource"];
        };
        ToolCreate: {
            key: string;
            config: components["schemas"]["ToolConfig"];
            /** @description Kept encrypted and never shown. */
            secret?: string;
        };
        ToolReplace: {
            config: components["schemas"]["ToolConfig"];
            /** @description Left out: stays. Empty: removed. */
            secret?: string;
        };
        UsageFigures: {
            /** Format: int64 */
            calls: number;
            /** Format: int64 */
            cancelledCalls: number;
            /** Format: int64 */
            errorCalls: number;
            /** Format: int64 */
            estimatedCalls: number;
            /** Format: int64 */
            inputTokens: number;
            /** Format: int64 */
            cachedInputTokens: number;
            /** Format: int64 */
            outputTokens: number;
            /** Format: int64 */
            reasoningTokens: number;
            /** Format: double */
            costUsd: number;
            /**
             * Format: double
             * @description Spent in calls that a stop aborted.
             */
            cancelledCostUsd: number;
            /**
             * Format: int64
             * @description From the request to its first token; null where none came.
             */
            firstTokenP50Ms: number | null;
            /** Format: int64 */
            firstTokenP95Ms: number | null;
        };
        /** @description The fields that are not grouped by are left out. */
        UsageRow: {
            /** Format: int64 */
            calls: number;
            /** Format: int64 */
            cancelledCalls: number;
            /** Format: int64 */
            errorCalls: number;
            /** Format: int64 */
            estimatedCalls: number;
            /** Format: int64 */
            inputTokens: number;
            /** Format: int64 */
            cachedInputTokens: number;
            /** Format: int64 */
            outputTokens: number;
            /** Format: int64 */
            reasoningTokens: number;
            /** Format: double */
            costUsd: number;
            /**
             * Format: double
             * @description Spent in calls that a stop aborted.
             */
            cancelledCostUsd: number;
            /**
             * Format: int64
             * @description From the request to its first token; null where none came.
             */
            firstTokenP50Ms: number | null;
            /** Format: int64 */
            firstTokenP95Ms: number | null;
            /** @description UTC, YYYY-MM-DD */
            day?: string;
            agentId?: string;
            model?: string;
            /** @enum {string} */
            status?: "ok" | "error" | "cancelled";
        };
        Usage: {
            /** Format: date-time */
            from: string;
            /** Format: date-time */
            to: string;
            groupBy: string[];
            total: components["schemas"]["UsageFigures"];
            data: components["schemas"]["UsageRow"][];
        };
        OutcomeRow: {
            /** @description UTC, YYYY-MM-DD */
            day: string;
            /**
             * @description lost: the node was lost.
             * @enum {string}
             */
            outcome: "completed" | "cancelled" | "limited" | "failed" | "lost";
            /** Format: int64 */
            turns: number;
        };
        OutcomeList: {
            /** Format: date-time */
            from: string;
            /** Format: date-time */
            to: string;
            data: components["schemas"]["OutcomeRow"][];
        };
        Operations: {
            /**
             * Format: date-time
             * @description By the database's clock.
             */
            at: string;
            counts: components["schemas"]["SlotCounts"];
            nodes: components["schemas"]["Node"][];
            /** @description Stuck ones first, then the oldest; 200 at most. */
            slots: components["schemas"]["Slot"][];
            slotsLeftOut: number;
        };
        /** @description Of the project's turns. */
        SlotCounts: {
            /** @description Without those that are stopping. */
            running: number;
            stopping: number;
            queued: number;
            waiting: number;
            stuck: number;
        };
        Node: {
            /** @description Of the process; a restart has another. */
            id: string;
            name: string;
            /**
             * @description late: no heartbeat for longer than its lease, and not yet declared dead.
             * @enum {string}
             */
            state: "alive" | "late" | "dead";
            /** Format: int64 */
            heartbeatAgeMs: number;
            /** @description Turns of the project that it runs. */
            slots: number;
        };
        Slot: {
            sessionId: string;
            runId: string;
            agentId: string;
            owner: components["schemas"]["Actor"];
            startedBy: components["schemas"]["Actor"];
            door: components["schemas"]["Door"];
            state: components["schemas"]["SessionState"];
            nodeId: string | null;
            /** @description Its name. */
            node: string | null;
            background: boolean;
            /**
             * Format: int64
             * @description Since its turn was asked for.
             */
            ageMs: number;
            /**
             * Format: int64
             * @description Since it was told to stop.
             */
            stopAgeMs: number | null;
            /**
             * @description Why it needs a look: told to stop more than 5 seconds ago; its node has no
             *     heartbeat; its node is dead and the turn not yet ended by another; queued for
             *     more than 30 seconds.
             * @enum {string|null}
             */
            stuck: "stopping" | "node_late" | "node_dead" | "queued" | null;
            /** @description The caller may stop it. */
            mayAct: boolean;
        };
        /** @enum {string} */
        AuditAction: "turn.stopped" | "action.decided" | "agent.published" | "token.created" | "token.revoked" | "callback.redelivered";
        AuditEntry: {
            id: string;
            /** Format: date-time */
            at: string;
            action: components["schemas"]["AuditAction"];
            by: components["schemas"]["Actor"];
            door: string;
            /** @description Name of the node that took the request. */
            node: string;
            /** @description Where the caller was on the network. */
            address: string | null;
            sessionId: string | null;
            runId: string | null;
            /** @description Id of the action or token, key of the agent. */
            subject: string | null;
            /** @description The decision, the version, the name of the token. */
            detail: string | null;
        };
        AuditList: {
            data: components["schemas"]["AuditEntry"][];
            nextCursor: string | null;
        };
        StopLatency: {
            /** Format: date-time */
            from: string;
            /** Format: date-time */
            to: string;
            /** @description One for each path, in this order, with zero counts too. */
            series: components["schemas"]["LatencySeries"][];
        };
        LatencySeries: {
            path: components["schemas"]["StopPath"];
            /** Format: int64 */
            count: number;
            /** Format: double */
            p50Ms: number | null;
            /** Format: double */
            p95Ms: number | null;
            /** Format: double */
            p99Ms: number | null;
            /** Format: double */
            maxMs: number | null;
            buckets: {
                /**
                 * Format: double
                 * @description Up to so long; null: longer than all others.
                 */
                leMs: number | null;
                /**
                 * Format: int64
                 * @description In this bucket alone.
                 */
                count: number;
            }[];
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
        Error: {
            error: components["schemas"]["ErrorBody"];
        };
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
        "schemas-Tokens": {
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
        /**
         * @description dropped: it could not be aborted and its result is used for nothing. unconfirmed:
         *     nobody can say whether it ran or still runs.
         * @enum {string}
         */
        ToolOutcome: "success" | "error" | "aborted" | "dropped" | "unconfirmed";
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
                usage: components["schemas"]["schemas-Tokens"];
                tools?: {
                    call_id: string;
                    name: string;
                    outcome: components["schemas"]["ToolOutcome"];
                }[];
            };
        };
        /** @description Any JSON value. */
        JSONValue: Record<string, unknown> | unknown[] | string | number | boolean | null;
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
        TextData: {
            text: string;
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
                    usage: components["schemas"]["schemas-Tokens"];
                };
            };
        };
        /** @enum {string} */
        ActionType: "approval" | "question";
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
        /** @enum {string} */
        ActionState: "open" | "approved" | "denied" | "withdrawn" | "expired";
        ActionDecidedEvent: components["schemas"]["EventHead"] & {
            /** @enum {string} */
            type?: "action.decided";
            data?: {
                action_id: string;
                state: components["schemas"]["ActionState"];
                by?: string;
            };
        };
        Event: components["schemas"]["TurnStartedEvent"] | components["schemas"]["TurnPausedEvent"] | components["schemas"]["TurnStoppingEvent"] | components["schemas"]["TurnEndedEvent"] | components["schemas"]["MessageEvent"] | components["schemas"]["TextDeltaEvent"] | components["schemas"]["ReasoningDeltaEvent"] | components["schemas"]["ToolStartedEvent"] | components["schemas"]["ToolOutputEvent"] | components["schemas"]["ToolFinishedEvent"] | components["schemas"]["ActionRequestedEvent"] | components["schemas"]["ActionDecidedEvent"];
        /** @enum {string} */
        AgentStatus: "active" | "disabled";
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
        /** @description Who answers web searches. Of source web_search; left out, the project's shared tool of the same key says it. */
        WebSearchSource: {
            /** @enum {string} */
            provider: "searxng" | "brave" | "tavily";
            /** @description Required for searxng. Default the provider's own address. */
            base_url?: string;
            auth?: components["schemas"]["ToolAuth"];
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
        /**
         * @description stopping: told, not ended. stopped: ended by this stop. finished: ended otherwise.
         *     none: nothing was there to stop.
         * @enum {string}
         */
        StopStatus: "stopping" | "stopped" | "finished" | "none";
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
    };
    responses: {
        /**
         * @description The request was refused or failed. 401 `not_signed_in`: sign in. 403
         *     `permission_denied` names the permission; `agent_session_forbidden`: it is somebody
         *     else's session; `cross_origin`: it came from another site.
         */
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
        /** @description What is wrong with it; 200 in any case. */
        Validated: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Validation"];
            };
        };
        /** @description A page. */
        Sessions: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["SessionList"];
            };
        };
        /** @description A page. */
        Runs: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["RunList"];
            };
        };
        /** @description The turn has been told to stop, or there was nothing to stop. */
        Stopped: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["StopAnswer"];
            };
        };
    };
    parameters: {
        /** @description The agent's key. */
        AgentId: string;
        SessionId: string;
        RunId: string;
        ActionId: string;
        UserId: string;
        /** @description Wait up to so many milliseconds for the end. In the body it is the same. */
        WaitMs: number;
        /** @description true: store it without opening it, for a server that is not there yet. */
        Unchecked: boolean;
        Limit: number;
        /** @description `nextCursor` of the page before. */
        Cursor: string;
        OfSessionState: components["schemas"]["SessionState"];
        OfSessionDoor: components["schemas"]["Door"];
        /** @description A principal's id, or `me`. */
        OfSessionOwner: string;
        /** @description Of the newest turn. */
        OfSessionStopReason: components["schemas"]["StopReason"];
        OfRunState: components["schemas"]["RunState"];
        /** @description Also `any`: turns of all kinds. */
        OfRunBackground: "true" | "false" | "any";
        /** @description Inclusive. Default 30 days before `to`, for stop latencies one day. */
        From: string;
        /** @description Exclusive. Default now. */
        To: string;
    };
    requestBodies: {
        Validate: {
            content: {
                "application/json": components["schemas"]["AgentDraft"];
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
    getSignInHint: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Who may sign in. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignIn"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    signIn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignIn"];
            };
        };
        responses: {
            /** @description Who has signed in. Set-Cookie has the sign-in. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    signOut: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Nobody is signed in any more. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    getMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The caller, the projects and what may be done in the current one. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    selectProject: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Of one of the caller's projects. */
                    projectId: string;
                };
            };
        };
        responses: {
            /** @description The caller, in the project. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    changePassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasswordChange"];
            };
        };
        responses: {
            /** @description It is changed. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    listActors: {
        parameters: {
            query: {
                /** @description Comma-separated, 100 at most. */
                ids: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Their names. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActorList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    stream: {
        parameters: {
            query?: {
                /** @description Comma-separated `sessionId:seq`: events above seq, then live ones. 50 at most. */
                follow?: string;
                /** @description Comma-separated ids of sessions whose state is told at once and whenever it changes. 100 at most. */
                states?: string;
                /** @description Tell what runs where, at once and every two seconds. Left out where the caller may not see it. */
                operations?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The stream. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["StreamFrame"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listAgents: {
        parameters: {
            query?: {
                status?: components["schemas"]["AgentStatus"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agents. */
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
    validateNewAgent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: components["requestBodies"]["Validate"];
        responses: {
            200: components["responses"]["Validated"];
            default: components["responses"]["Refused"];
        };
    };
    getAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
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
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
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
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
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
    validateAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
            };
            cookie?: never;
        };
        requestBody: components["requestBodies"]["Validate"];
        responses: {
            200: components["responses"]["Validated"];
            default: components["responses"]["Refused"];
        };
    };
    publishAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Publish this one again. */
                    version?: number;
                };
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
    listVersions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The versions, without what they hold. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getVersion: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
                version: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The version. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Version"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listSessions: {
        parameters: {
            query?: {
                agentId?: string;
                state?: components["parameters"]["OfSessionState"];
                door?: components["parameters"]["OfSessionDoor"];
                /** @description A principal's id, or `me`. */
                owner?: components["parameters"]["OfSessionOwner"];
                /** @description Of the newest turn. */
                stopReason?: components["parameters"]["OfSessionStopReason"];
                limit?: components["parameters"]["Limit"];
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Sessions"];
            default: components["responses"]["Refused"];
        };
    };
    listAgentSessions: {
        parameters: {
            query?: {
                state?: components["parameters"]["OfSessionState"];
                door?: components["parameters"]["OfSessionDoor"];
                /** @description A principal's id, or `me`. */
                owner?: components["parameters"]["OfSessionOwner"];
                /** @description Of the newest turn. */
                stopReason?: components["parameters"]["OfSessionStopReason"];
                limit?: components["parameters"]["Limit"];
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Sessions"];
            default: components["responses"]["Refused"];
        };
    };
    createSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    title?: string;
                };
            };
        };
        responses: {
            /** @description The session, with nothing in it. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
                sessionId: components["parameters"]["SessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    deleteSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
                sessionId: components["parameters"]["SessionId"];
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
    sendMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
                sessionId: components["parameters"]["SessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MessageSend"];
            };
        };
        responses: {
            /** @description The turn has begun. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Begun"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getTranscript: {
        parameters: {
            query?: {
                /** @description `nextBefore` of the page before. */
                before?: number;
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
                sessionId: components["parameters"]["SessionId"];
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
                    "application/json": components["schemas"]["Transcript"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    followSession: {
        parameters: {
            query?: {
                after?: number;
                /** @description Of a page. */
                limit?: number;
            };
            header?: {
                "Last-Event-ID"?: number;
            };
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
                sessionId: components["parameters"]["SessionId"];
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
                    "application/json": components["schemas"]["EventPage"];
                    "text/event-stream": components["schemas"]["Event"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listSessionRuns: {
        parameters: {
            query?: {
                limit?: components["parameters"]["Limit"];
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
                sessionId: components["parameters"]["SessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Runs"];
            default: components["responses"]["Refused"];
        };
    };
    cancelSession: {
        parameters: {
            query?: {
                /** @description Wait up to so many milliseconds for the end. In the body it is the same. */
                wait_ms?: components["parameters"]["WaitMs"];
            };
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
                sessionId: components["parameters"]["SessionId"];
            };
            cookie?: never;
        };
        requestBody?: components["requestBodies"]["AskStop"];
        responses: {
            200: components["responses"]["Stopped"];
            default: components["responses"]["Refused"];
        };
    };
    listRuns: {
        parameters: {
            query?: {
                agentId?: string;
                state?: components["parameters"]["OfRunState"];
                /** @description Also `any`: turns of all kinds. */
                background?: components["parameters"]["OfRunBackground"];
                limit?: components["parameters"]["Limit"];
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Runs"];
            default: components["responses"]["Refused"];
        };
    };
    listAgentRuns: {
        parameters: {
            query?: {
                state?: components["parameters"]["OfRunState"];
                /** @description Also `any`: turns of all kinds. */
                background?: components["parameters"]["OfRunBackground"];
                limit?: components["parameters"]["Limit"];
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: never;
            path: {
                /** @description The agent's key. */
                agentId: components["parameters"]["AgentId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Runs"];
            default: components["responses"]["Refused"];
        };
    };
    getRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                runId: components["parameters"]["RunId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The turn. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunDetail"];
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
                runId: components["parameters"]["RunId"];
            };
            cookie?: never;
        };
        requestBody?: components["requestBodies"]["AskStop"];
        responses: {
            200: components["responses"]["Stopped"];
            default: components["responses"]["Refused"];
        };
    };
    redeliverRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                runId: components["parameters"]["RunId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The turn; its callback is pending. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunDetail"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listActions: {
        parameters: {
            query?: {
                /** @description Open ones, or those that have been decided, withdrawn or expired. */
                state?: "open" | "closed";
                type?: "approval" | "question";
                agentId?: string;
                limit?: components["parameters"]["Limit"];
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["Cursor"];
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
                    "application/json": components["schemas"]["ActionList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getAction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                actionId: components["parameters"]["ActionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The action. */
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
    decideAction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                actionId: components["parameters"]["ActionId"];
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
    listTokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tokens, revoked ones too. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    createToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TokenCreate"];
            };
        };
        responses: {
            /** @description The token, and its secret, which is never shown again. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenCreated"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    revokeToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tokenId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is revoked. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    listMembers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The members. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    addMember: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MemberAdd"];
            };
        };
        responses: {
            /** @description The member. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberAdded"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    removeMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: components["parameters"]["UserId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No member any more. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    updateMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: components["parameters"]["UserId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    role: components["schemas"]["Role"];
                };
            };
        };
        responses: {
            /** @description The member. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    resetPassword: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: components["parameters"]["UserId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The password. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        password: string;
                    };
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
            /** @description The models. */
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
    createModel: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ModelCreate"];
            };
        };
        responses: {
            /** @description The model. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Model"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getModel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                modelKey: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The model. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Model"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    replaceModel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                modelKey: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ModelReplace"];
            };
        };
        responses: {
            /** @description The model as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Model"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    deleteModel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                modelKey: string;
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
    listTools: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tools, and the functions that are built in. */
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
            /** @description The tool. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tool"];
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
                toolKey: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tool. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tool"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    replaceTool: {
        parameters: {
            query?: {
                /** @description true: store it without opening it, for a server that is not there yet. */
                unchecked?: components["parameters"]["Unchecked"];
            };
            header?: never;
            path: {
                toolKey: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ToolReplace"];
            };
        };
        responses: {
            /** @description The tool as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tool"];
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
                toolKey: string;
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
    checkTool: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                toolKey: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What a model would be offered. */
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
    listPortals: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The portals. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PortalList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    createPortal: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PortalCreate"];
            };
        };
        responses: {
            /** @description The portal. */
            201: {
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
    getPortal: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                slug: string;
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
    replacePortal: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PortalReplace"];
            };
        };
        responses: {
            /** @description The portal as it is now. */
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
    deletePortal: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                slug: string;
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
    getUsage: {
        parameters: {
            query?: {
                /** @description Inclusive. Default 30 days before `to`, for stop latencies one day. */
                from?: components["parameters"]["From"];
                /** @description Exclusive. Default now. */
                to?: components["parameters"]["To"];
                /** @description Comma-separated of day (UTC), agent, model and status; a row for each combination. */
                groupBy?: string;
                agentId?: string;
                model?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The rows, and their sum. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Usage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getOutcomes: {
        parameters: {
            query?: {
                /** @description Inclusive. Default 30 days before `to`, for stop latencies one day. */
                from?: components["parameters"]["From"];
                /** @description Exclusive. Default now. */
                to?: components["parameters"]["To"];
                agentId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A row for each day (UTC) and outcome. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OutcomeList"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    listAudit: {
        parameters: {
            query?: {
                action?: components["schemas"]["AuditAction"];
                /** @description A principal's id. */
                by?: string;
                sessionId?: string;
                runId?: string;
                limit?: components["parameters"]["Limit"];
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["Cursor"];
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
    getOperations: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The nodes, and the project's turns that are queued, run or wait. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operations"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getStopLatency: {
        parameters: {
            query?: {
                /** @description Inclusive. Default 30 days before `to`, for stop latencies one day. */
                from?: components["parameters"]["From"];
                /** @description Exclusive. Default now. */
                to?: components["parameters"]["To"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A series for each way that a stop can take. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StopLatency"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
}
