// The fields of an agent's configuration.
import type { Spec } from './forms.tsx'

export type Options = [string, string][]

export const answerSpecs = (models: Options): Spec[] => [
  { path: 'model', label: 'Model', kind: 'select', options: models },
  {
    path: 'fallback_models',
    label: 'Fallback models',
    kind: 'words',
    placeholder: 'none',
    hint: 'Keys, separated by commas; asked in this order when the model fails',
  },
  { path: 'instructions', label: 'Instructions', kind: 'area', rows: 8, placeholder: 'You are helpful and brief.' },
  {
    path: 'temperature',
    label: 'Temperature',
    kind: 'number',
    step: 0.1,
    placeholder: 'the model’s own',
    hint: '0 to 2',
  },
  { path: 'top_p', label: 'Top p', kind: 'number', step: 0.05, placeholder: 'the model’s own', hint: '0 to 1' },
  {
    path: 'max_output_tokens',
    label: 'Longest answer',
    kind: 'number',
    placeholder: 'the model’s own',
    hint: 'In tokens, of one model call',
  },
]

export const limitSpecs: Spec[] = [
  { path: 'limits.max_tool_calls', label: 'Tool calls in a turn', kind: 'number', placeholder: '12' },
  { path: 'limits.max_parallel_tools', label: 'Tools at once', kind: 'number', placeholder: '4' },
  {
    path: 'limits.max_wall_clock_ms',
    label: 'Longest turn',
    kind: 'number',
    placeholder: 'no limit',
    hint: 'In milliseconds',
  },
  { path: 'limits.max_total_output_tokens', label: 'Output tokens in a turn', kind: 'number', placeholder: 'no limit' },
  {
    path: 'limits.max_cost_usd',
    label: 'Cost of a turn',
    kind: 'number',
    step: 0.01,
    placeholder: 'no limit',
    hint: 'In US dollars',
  },
]

export const executionSpecs: Spec[] = [
  {
    path: 'execution.sync_timeout_seconds',
    label: 'Longest wait of a caller',
    kind: 'number',
    placeholder: '300',
    hint: 'In seconds, for a whole answer in one request',
  },
  {
    path: 'execution.default_mode',
    label: 'Runs',
    kind: 'select',
    none: 'As the caller asks',
    options: [
      ['sync', 'In the request'],
      ['background', 'In the background'],
    ],
  },
  {
    path: 'execution.background_max_duration_minutes',
    label: 'Longest background run',
    kind: 'number',
    placeholder: 'no limit',
    hint: 'In minutes',
  },
  {
    path: 'execution.callback_url',
    label: 'Callback',
    kind: 'text',
    placeholder: 'https://…',
    hint: 'Called when a background run has ended',
  },
]

export const sources: Options = [
  ['function', 'Function'],
  ['openapi', 'HTTP API (OpenAPI)'],
  ['mcp', 'MCP server'],
  ['sandbox', 'Sandbox'],
  ['agent', 'Another agent'],
  ['web_search', 'Web search'],
  ['memory', 'Memory'],
  ['question', 'Questions to the user'],
]

export const toolSpecs: Spec[] = [
  { path: 'key', label: 'Key', kind: 'text', hint: 'A shared tool of this key is used where nothing is set below' },
  { path: 'names', label: 'Only these', kind: 'words', placeholder: 'all of them', hint: 'Names, separated by commas' },
  {
    path: 'approval',
    label: 'Approval',
    kind: 'select',
    none: 'As the tool says',
    options: [
      ['always', 'Always ask a person'],
      ['never', 'Never ask'],
    ],
  },
  { path: 'timeout_ms', label: 'Timeout of a call', kind: 'number', placeholder: '30000', hint: 'In milliseconds' },
]

const auth = (at: string): Spec[] => [
  {
    path: `${at}.auth.type`,
    label: 'Sign-in',
    kind: 'select',
    none: 'None',
    options: [
      ['bearer', 'Bearer token'],
      ['basic', 'Name and password'],
      ['header', 'A header'],
    ],
  },
  { path: `${at}.auth.secret`, label: 'Secret', kind: 'text', hint: 'Key of the shared tool that keeps it' },
  { path: `${at}.auth.username`, label: 'Name', kind: 'text', hint: 'For name and password' },
  { path: `${at}.auth.header`, label: 'Header', kind: 'text', hint: 'For a header' },
]

/** The fields that belong to a source, below its own name. */
export function sourceSpecs(source: string, agents: Options): Spec[] {
  switch (source) {
    case 'openapi':
      return [
        { path: 'openapi.document_url', label: 'Document', kind: 'text', placeholder: 'https://…/openapi.json' },
        { path: 'openapi.base_url', label: 'Base address', kind: 'text', placeholder: 'the document’s first server' },
        { path: 'openapi.document', label: 'Or the document itself', kind: 'code', rows: 5 },
        ...auth('openapi'),
      ]
    case 'mcp':
      return [
        { path: 'mcp.url', label: 'Address', kind: 'text', placeholder: 'https://…/mcp' },
        {
          path: 'mcp.command',
          label: 'Or a command',
          kind: 'lines',
          hint: 'The program and its arguments, one a line; only where the operator allows commands',
        },
        { path: 'mcp.env', label: 'Its environment', kind: 'pairs', hint: 'NAME: value, one a line' },
        ...auth('mcp'),
      ]
    case 'sandbox':
      return [
        { path: 'sandbox.memory_mb', label: 'Memory', kind: 'number', placeholder: '512', hint: 'In MB' },
        { path: 'sandbox.disk_mb', label: 'Workspace', kind: 'number', placeholder: '256', hint: 'In MB' },
        { path: 'sandbox.processes', label: 'Processes', kind: 'number', placeholder: '128' },
        { path: 'sandbox.network', label: 'May use the network', kind: 'check' },
      ]
    case 'agent':
      return [
        { path: 'agent.agent', label: 'Agent', kind: 'select', options: agents },
        { path: 'agent.description', label: 'What it is good for', kind: 'text', hint: 'For the model' },
      ]
    case 'web_search':
      return [
        {
          path: 'web_search.provider',
          label: 'Provider',
          kind: 'select',
          none: 'The shared tool’s',
          options: [
            ['searxng', 'SearXNG'],
            ['brave', 'Brave'],
            ['tavily', 'Tavily'],
          ],
        },
        { path: 'web_search.base_url', label: 'Address', kind: 'text', hint: 'Required for SearXNG' },
        ...auth('web_search'),
      ]
    default:
      return []
  }
}
