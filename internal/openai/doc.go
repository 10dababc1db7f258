// Package openai calls models over the chat completions API, as OpenAI and most
// providers and local servers speak it, through github.com/sashabaranov/go-openai.
//
// A Client sends one request per Stream, never a second one: retrying and
// falling back are the engine's, which accounts for each call by itself. The
// context is the only stop signal. When it ends, or when the caller leaves the
// loop, the provider's connection is closed at once (HTTP/1.1) or its stream is
// reset (HTTP/2), nothing more is read, and no goroutine stays behind.
//
// Requests, authentication and error documents are go-openai's. The bytes of
// the stream are read here, not by its Recv: that loses an error that follows a
// comment, keeps every comment in memory, gives up after 300 of them, puts no
// bound on a line and matches three regular expressions per line.
//
// What is sent, where the API leaves a choice:
//   - max_tokens carries the limit of the answer, since every compatible server
//     knows it; OpenAI's own reasoning models (o1, o3, o4, gpt-5, gpt-6), which
//     refuse it, get max_completion_tokens.
//   - a temperature or top_p of 0 is sent as 0 although go-openai leaves zeros out.
//   - a tool's empty result is sent as "(no output)": go-openai leaves an empty
//     content out, and providers refuse a result without one.
package openai
