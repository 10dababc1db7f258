// Package openaitest is a scripted provider that speaks the chat completions
// API: the model of tests, of `belay dev` and of `belay mock-model`. It calls no
// model. It is as strict about the history it is sent as the strictest providers
// are together, and it sees when a client drops a request.
//
// What it answers is decided by a Script, or by the last user message. A plain
// message gets a short answer, word by word, that quotes the message and says how
// the answer before it ended, so that a person sees what the model was given.
// Lines of the message that begin with a slash are directives instead:
//
//	/slow N             N words, one each 100 ms
//	/fast N             N words, without a pause
//	/say words=N delay=D chunk=C
//	                    N words (default 20), C at a time, D between (default by rate)
//	/echo TEXT          TEXT, word by word
//	/code WORD          "The code word is WORD."
//	/reason             some reasoning before the answer
//	/tool NAME {json}   asks for the tool; the next request, with its result, gets
//	                    an answer that quotes it. Several lines ask for several at once
//	/loop N NAME {json} asks for the tool N times, one request after the other
//	/hang               accepts the request and never answers
//	/silent             some words, then nothing more
//	/wait D             waits before it answers, D as in 250ms or 2s
//	/error CODE         refuses with the HTTP status
//	/cut                some words, then the connection is cut within an event
//	/break              some words, then the response ends without a finish
//	/malformed          some words, then an event that is not JSON
//	/length             ends the answer with finish reason length
//	/nousage            sends no count of tokens
//
// Directives may be combined, one a line; what can't be combined is taken in the
// order of the list above, the last one that applies.
package openaitest
