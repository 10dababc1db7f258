// The project's models, and the tools that agents share.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { type Options, sourceSpecs, sources } from '../agentSpecs.ts'
import { api, must, type Schemas } from '../api.ts'
import { dollars, number } from '../format.ts'
import { type Doc, Fields, faultsOf, type Spec } from '../forms.tsx'
import { useMay } from '../me.ts'
import { Ago, Button, Confirm, Dialog, Empty, Failure, Field, Loaded, Page } from '../ui.tsx'

type Model = Schemas['Model']
type Tool = Schemas['Tool']

const modelSpecs: Spec[] = [
  {
    path: 'base_url',
    label: 'Address',
    kind: 'text',
    placeholder: 'https://api.example.com/v1',
    hint: 'Of any server that speaks the OpenAI API',
    wide: true,
  },
  { path: 'model', label: 'Model', kind: 'text', hint: 'The provider’s name of it' },
  {
    path: 'api_key_env',
    label: 'Environment variable with the key',
    kind: 'text',
    hint: 'Of the nodes, instead of a stored key',
  },
  { path: 'pricing.input', label: 'Input', kind: 'number', step: 0.01, hint: 'US dollars per million tokens' },
  { path: 'pricing.output', label: 'Output', kind: 'number', step: 0.01, hint: 'US dollars per million tokens' },
  {
    path: 'pricing.cached_input',
    label: 'Cached input',
    kind: 'number',
    step: 0.01,
    hint: 'US dollars per million tokens',
  },
  { path: 'retries', label: 'Retries', kind: 'number', placeholder: '2', hint: 'Before the first byte only' },
  { path: 'timeout_ms', label: 'Longest call', kind: 'number', placeholder: '600000', hint: 'In milliseconds' },
  { path: 'idle_timeout_ms', label: 'Longest silence', kind: 'number', placeholder: '60000', hint: 'In milliseconds' },
  { path: 'headers', label: 'Headers', kind: 'pairs', hint: 'Name: value, one a line', wide: true },
]

export function Models() {
  const may = useMay()
  const manage = may('model.manage')
  const queries = useQueryClient()
  const models = useQuery({ queryKey: ['models'], queryFn: () => must(api.GET('/models')) })
  const tools = useQuery({ queryKey: ['tools'], queryFn: () => must(api.GET('/tools')) })
  const [model, setModel] = useState<Model | 'new'>()
  const [tool, setTool] = useState<Tool | 'new'>()
  const [checking, setChecking] = useState<string>()
  const [deleting, setDeleting] = useState<{ kind: 'model' | 'tool'; key: string }>()
  const changed = async () => {
    await Promise.all(['models', 'tools'].map((k) => queries.invalidateQueries({ queryKey: [k] })))
  }
  const remove = async () => {
    if (!deleting) return
    if (deleting.kind === 'model')
      await must(api.DELETE('/models/{modelKey}', { params: { path: { modelKey: deleting.key } } }))
    else await must(api.DELETE('/tools/{toolKey}', { params: { path: { toolKey: deleting.key } } }))
    await changed()
  }
  return (
    <Page title="Models and tools">
      <SectionHead title="Models" action={manage ? 'Add model' : undefined} onAction={() => setModel('new')} first />
      <Loaded
        query={models}
        rows={2}
        empty={(d) =>
          d.data.length === 0 ? (
            <Empty title="No models yet" command="belay apply -f belay.yaml">
              <p>Agents answer with a model: any server that speaks the OpenAI API.</p>
            </Empty>
          ) : undefined
        }
      >
        {({ data }) => (
          <div className="table-box" tabIndex={0}>
            <table className="table">
              <thead>
                <tr>
                  <th>Key</th>
                  <th>Model</th>
                  <th>Address</th>
                  <th className="num">Input / output</th>
                  <th>API key</th>
                  <th>Used by</th>
                  <th>Changed</th>
                  <th>
                    <span className="bl-hidden">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {data.map((m) => (
                  <tr key={m.key}>
                    <td className="font-mono text-[12.5px] font-semibold">{m.key}</td>
                    <td className="font-mono text-[12px]">{m.config.model}</td>
                    <td className="clip" title={m.config.base_url}>
                      {m.config.base_url}
                    </td>
                    <td className="num">
                      {m.config.pricing
                        ? `${dollars(m.config.pricing.input ?? 0)} / ${dollars(m.config.pricing.output ?? 0)}`
                        : '–'}
                    </td>
                    <td className="tight">
                      {m.hasApiKey ? 'stored' : m.config.api_key_env ? `$${m.config.api_key_env}` : 'none'}
                    </td>
                    <UsedBy agents={m.usedBy} />
                    <td className="tight">
                      <Ago at={m.updatedAt} />
                    </td>
                    <td className="tight text-right">
                      {manage && (
                        <RowActions
                          name={m.key}
                          onEdit={() => setModel(m)}
                          onDelete={() => setDeleting({ kind: 'model', key: m.key })}
                        />
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Loaded>

      <SectionHead title="Shared tools" action={manage ? 'Add tool' : undefined} onAction={() => setTool('new')} />
      <Loaded
        query={tools}
        rows={2}
        empty={(d) =>
          d.data.length === 0 ? (
            <Empty title="No shared tools yet">
              <p>An HTTP API, an MCP server or a web search that several agents use, with its secret kept once.</p>
            </Empty>
          ) : undefined
        }
      >
        {({ data }) => (
          <div className="table-box" tabIndex={0}>
            <table className="table">
              <thead>
                <tr>
                  <th>Key</th>
                  <th>Kind</th>
                  <th>Where</th>
                  <th>Secret</th>
                  <th>Used by</th>
                  <th>Changed</th>
                  <th>
                    <span className="bl-hidden">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {data.map((t) => (
                  <tr key={t.key}>
                    <td className="font-mono text-[12.5px] font-semibold">{t.key}</td>
                    <td className="tight">{sources.find(([s]) => s === t.config.source)?.[1] ?? t.config.source}</td>
                    <td className="clip">{whereOf(t)}</td>
                    <td className="tight">{t.hasSecret ? 'stored' : 'none'}</td>
                    <UsedBy agents={t.usedBy} />
                    <td className="tight">
                      <Ago at={t.updatedAt} />
                    </td>
                    <td className="tight text-right">
                      {manage && (
                        <RowActions
                          name={t.key}
                          onCheck={() => setChecking(t.key)}
                          onEdit={() => setTool(t)}
                          onDelete={() => setDeleting({ kind: 'tool', key: t.key })}
                        />
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Loaded>

      {tools.data && tools.data.functions.length > 0 && (
        <>
          <SectionHead title="Functions" />
          <Functions list={tools.data.functions} />
        </>
      )}
      {model && (
        <ModelDialog
          model={model === 'new' ? undefined : model}
          onClose={() => setModel(undefined)}
          onSaved={changed}
        />
      )}
      {tool && (
        <ToolDialog tool={tool === 'new' ? undefined : tool} onClose={() => setTool(undefined)} onSaved={changed} />
      )}
      {checking && <ToolCheck toolKey={checking} onClose={() => setChecking(undefined)} />}
      {deleting && (
        <Confirm
          title={`Delete ${deleting.key}?`}
          verb={`Delete ${deleting.kind}`}
          onClose={() => setDeleting(undefined)}
          run={remove}
        >
          <p>It can’t be deleted while an agent names it.</p>
        </Confirm>
      )}
    </Page>
  )
}

function Functions({ list }: { list: Schemas['Function'][] }) {
  return (
    <dl className="panel panel-pad grid grid-cols-[auto_minmax(0,1fr)] gap-x-6 gap-y-2 text-[13.5px]">
      {list.map((f) => (
        <div key={f.name} className="contents">
          <dt className="font-mono text-[12.5px] font-semibold">{f.name}</dt>
          <dd className="text-ink-2">{f.description || '–'}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Opens a shared tool as a turn would: what a model would be offered, or what is wrong. */
function ToolCheck({ toolKey, onClose }: { toolKey: string; onClose: () => void }) {
  const query = useQuery({
    queryKey: ['tool-check', toolKey],
    queryFn: () => must(api.POST('/tools/{toolKey}/check', { params: { path: { toolKey } } })),
    gcTime: 0,
    retry: false,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  })
  return (
    <Dialog title={`Check of ${toolKey}`} onClose={onClose} wide>
      <Loaded query={query} rows={3}>
        {({ data }) => (
          <>
            <p>
              It can be opened. A model is offered {number(data.length)} {data.length === 1 ? 'function' : 'functions'}
              {data.length > 0 ? ':' : '.'}
            </p>
            {data.length > 0 && <Functions list={data} />}
          </>
        )}
      </Loaded>
    </Dialog>
  )
}

function UsedBy({ agents }: { agents: string[] }) {
  const text = agents.length > 2 ? `${agents.length} agents` : agents.join(', ') || '–'
  return (
    <td className="tight" title={agents.join(', ')}>
      {text}
    </td>
  )
}

function whereOf(t: Tool): string {
  const c = t.config
  return (
    c.openapi?.document_url ??
    c.openapi?.base_url ??
    c.mcp?.url ??
    c.mcp?.command?.join(' ') ??
    c.web_search?.provider ??
    '–'
  )
}

function SectionHead({
  title,
  action,
  onAction,
  first,
}: {
  title: string
  action?: string
  onAction?: () => void
  first?: boolean
}) {
  return (
    <div className={`mb-3 flex items-center justify-between gap-4 ${first ? '' : 'mt-8'}`}>
      <h2 className="text-[15px] font-semibold">{title}</h2>
      {action && <Button onClick={onAction}>{action}</Button>}
    </div>
  )
}

interface RowActionsProps {
  name: string
  onCheck?: () => void
  onEdit: () => void
  onDelete: () => void
}

function RowActions({ name, onCheck, onEdit, onDelete }: RowActionsProps) {
  return (
    <>
      {onCheck && (
        <Button quiet onClick={onCheck}>
          Check<span className="bl-hidden"> {name}</span>
        </Button>
      )}
      <Button quiet onClick={onEdit}>
        Edit<span className="bl-hidden"> {name}</span>
      </Button>
      <Button quiet onClick={onDelete}>
        Delete<span className="bl-hidden"> {name}</span>
      </Button>
    </>
  )
}

interface SecretProps {
  label: string
  has: boolean
  value: string
  onChange: (v: string) => void
}

function Secret({ label, has, value, onChange }: SecretProps) {
  return (
    <Field label={label} hint={has ? 'One is stored; leave this empty to keep it' : 'Kept encrypted, never shown'}>
      {(c) => (
        <input
          {...c}
          className="input"
          type="password"
          autoComplete="off"
          value={value}
          onChange={(e) => onChange(e.target.value)}
        />
      )}
    </Field>
  )
}

function ModelDialog({
  model,
  onClose,
  onSaved,
}: {
  model?: Model
  onClose: () => void
  onSaved: () => Promise<void>
}) {
  const [key, setKey] = useState(model?.key ?? '')
  const [config, setConfig] = useState<Doc>((model?.config ?? {}) as Doc)
  const [apiKey, setApiKey] = useState('')
  const [error, setError] = useState<unknown>()
  const faults = faultsOf(error)
  const submit = async (e: FormEvent) => {
    e.preventDefault()
    setError(undefined)
    const c = config as unknown as Model['config']
    try {
      if (model)
        await must(
          api.PUT('/models/{modelKey}', {
            params: { path: { modelKey: model.key } },
            body: { config: c, apiKey: apiKey || undefined },
          }),
        )
      else await must(api.POST('/models', { body: { key, config: c, apiKey: apiKey || undefined } }))
      await onSaved()
      onClose()
    } catch (e) {
      setError(e)
    }
  }
  return (
    <Dialog title={model ? `Model ${model.key}` : 'Add model'} onClose={onClose} wide>
      <form onSubmit={submit} className="flex flex-col gap-4">
        {error !== undefined && faults.length === 0 && <Failure error={error} />}
        {!model && (
          <Field label="Key" hint="What agents call it" fault={faults.find((f) => f.field === 'key')?.message}>
            {(c) => (
              <input {...c} className="input mono" required value={key} onChange={(e) => setKey(e.target.value)} />
            )}
          </Field>
        )}
        <Fields specs={modelSpecs} doc={config} onChange={setConfig} prefix="config" faults={faults} />
        <Secret label="API key" has={model?.hasApiKey ?? false} value={apiKey} onChange={setApiKey} />
        <div className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" primary>
            {model ? 'Save' : 'Add model'}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

const sharedSources: Options = sources.filter(([s]) => s === 'openapi' || s === 'mcp' || s === 'web_search')

function ToolDialog({ tool, onClose, onSaved }: { tool?: Tool; onClose: () => void; onSaved: () => Promise<void> }) {
  const [key, setKey] = useState(tool?.key ?? '')
  const [config, setConfig] = useState<Doc>((tool?.config ?? { source: 'openapi' }) as unknown as Doc)
  const [secret, setSecret] = useState('')
  const [unchecked, setUnchecked] = useState(false)
  const [error, setError] = useState<unknown>()
  const faults = faultsOf(error)
  const submit = async (e: FormEvent) => {
    e.preventDefault()
    setError(undefined)
    const c = config as unknown as Tool['config']
    try {
      if (tool)
        await must(
          api.PUT('/tools/{toolKey}', {
            params: { path: { toolKey: tool.key }, query: { unchecked } },
            body: { config: c, secret: secret || undefined },
          }),
        )
      else
        await must(
          api.POST('/tools', {
            params: { query: { unchecked } },
            body: { key, config: c, secret: secret || undefined },
          }),
        )
      await onSaved()
      onClose()
    } catch (e) {
      setError(e)
    }
  }
  const source = String(config.source)
  return (
    <Dialog title={tool ? `Tool ${tool.key}` : 'Add shared tool'} onClose={onClose} wide>
      <form onSubmit={submit} className="flex flex-col gap-4">
        {error !== undefined && faults.length === 0 && <Failure error={error} />}
        {!tool && (
          <Field label="Key" hint="What agents call it" fault={faults.find((f) => f.field === 'key')?.message}>
            {(c) => (
              <input {...c} className="input mono" required value={key} onChange={(e) => setKey(e.target.value)} />
            )}
          </Field>
        )}
        <Fields
          specs={[
            { path: 'source', label: 'Kind', kind: 'select', options: sharedSources, wide: true },
            ...sourceSpecs(source, []),
          ]}
          doc={config}
          onChange={(c) => setConfig(c.source === config.source ? c : { source: c.source })}
          prefix="config"
          faults={faults}
        />
        <label className="check">
          <input type="checkbox" checked={unchecked} onChange={(e) => setUnchecked(e.target.checked)} />
          Store it without opening it: its server is not there yet
        </label>
        <Secret label="Secret" has={tool?.hasSecret ?? false} value={secret} onChange={setSecret} />
        <div className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" primary>
            {tool ? 'Save' : 'Add tool'}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
