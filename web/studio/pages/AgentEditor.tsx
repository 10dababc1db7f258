// The editor of an agent: its draft with validation as it is typed, a playground
// beside it, the difference to what is published, and the versions.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { Chat, useChat } from '../../shared/chat/Chat.tsx'
import { Place } from '../../shared/chat/context.ts'
import { ChatController } from '../../shared/chat/controller.ts'
import { explain, Problem } from '../../shared/problem.ts'
import { answerSpecs, executionSpecs, limitSpecs, type Options } from '../agentSpecs.ts'
import { api, must, type Schemas } from '../api.ts'
import { Diff } from '../Diff.tsx'
import { studioDoor, useNames, usePlaceFor } from '../doors.ts'
import { type Doc, type Fault, Fields } from '../forms.tsx'
import { useMay } from '../me.ts'
import { Ago, Button, Chip, Confirm, Failure, Loaded, Skeleton, StateChip, useToast } from '../ui.tsx'
import { agentsQuery } from './Agents.tsx'
import { principals } from './SessionPage.tsx'
import { ToolsEditor } from './ToolsEditor.tsx'

type Agent = Schemas['Agent']
type Config = Agent['config']

export function AgentEditor() {
  const { agentId } = useParams({ from: '/shell/agents/$agentId' })
  const query = useQuery({
    queryKey: ['agent', agentId],
    queryFn: () => must(api.GET('/agents/{agentId}', { params: { path: { agentId } } })),
    refetchOnWindowFocus: false,
    staleTime: Infinity,
  })
  if (!query.data) {
    return (
      <main className="page" id="main" tabIndex={-1}>
        <div className="page-in">
          {query.isError ? <Failure error={query.error} retry={() => void query.refetch()} /> : <Skeleton />}
        </div>
      </main>
    )
  }
  return <Editor key={agentId} agent={query.data} />
}

/** What the server says of a draft, asked a moment after the last key. */
function useValidation(agentId: string | undefined, draft: { name: string; config: Doc }, wanted: boolean) {
  const [said, setSaid] = useState<Schemas['Validation']>()
  const text = JSON.stringify({ name: draft.name, config: draft.config })
  useEffect(() => {
    if (!wanted) return
    const abort = new AbortController()
    const t = setTimeout(async () => {
      const body = JSON.parse(text) as Schemas['AgentDraft']
      const asked = agentId
        ? api.POST('/agents/{agentId}/validate', { params: { path: { agentId } }, body, signal: abort.signal })
        : api.POST('/agents/validate', { body, signal: abort.signal })
      const answer = await must<Schemas['Validation']>(asked).catch(() => undefined)
      if (answer && !abort.signal.aborted) setSaid(answer)
    }, 250)
    return () => {
      clearTimeout(t)
      abort.abort()
    }
  }, [agentId, text, wanted])
  return said
}

interface Draft {
  name: string
  status: Agent['status']
  config: Doc
  /** A new one; undefined keeps what is stored. */
  callbackSecret?: string
}

function draftOf(a: Agent): Draft {
  return { name: a.name, status: a.status, config: a.config as unknown as Doc }
}

function Editor({ agent }: { agent: Agent }) {
  const may = useMay()
  const queries = useQueryClient()
  const toast = useToast()
  const { tab = 'draft' } = useSearch({ from: '/shell/agents/$agentId' })
  const navigate = useNavigate()
  const manage = may('agent.manage')
  const [draft, setDraft] = useState(() => draftOf(agent))
  const [saving, setSaving] = useState(false)
  const [error, setError] = useState<unknown>()
  const [deleting, setDeleting] = useState(false)
  const said = useValidation(agent.id, draft, manage)
  const faults = said?.errors ?? []
  const dirty = JSON.stringify(draft) !== JSON.stringify(draftOf(agent))

  // The playground saves before it sends: it always tries what is on the screen.
  const latest = useRef({ draft, dirty, agent })
  latest.current = { draft, dirty, agent }
  const save = useCallback(async (): Promise<Agent> => {
    const { draft, dirty, agent } = latest.current
    if (!dirty) return agent
    setSaving(true)
    setError(undefined)
    try {
      const saved = await must(
        api.PATCH('/agents/{agentId}', {
          params: { path: { agentId: agent.id } },
          body: {
            name: draft.name,
            status: draft.status,
            config: draft.config as unknown as Config,
            callbackSecret: draft.callbackSecret,
            expectedUpdatedAt: agent.updatedAt,
          },
        }),
      )
      latest.current = { draft: draftOf(saved), dirty: false, agent: saved }
      queries.setQueryData(['agent', agent.id], saved)
      setDraft(draftOf(saved))
      void queries.invalidateQueries({ queryKey: ['agents'] })
      return saved
    } catch (e) {
      setError(e)
      throw e
    } finally {
      setSaving(false)
    }
  }, [queries])

  const publish = async (version?: number) => {
    setError(undefined)
    try {
      if (version === undefined) await save()
      const done = await must(
        api.POST('/agents/{agentId}/publish', {
          params: { path: { agentId: agent.id } },
          body: version === undefined ? {} : { version },
        }),
      )
      queries.setQueryData(['agent', agent.id], done)
      setDraft((d) => (latest.current.dirty ? d : draftOf(done)))
      for (const key of ['versions', 'agents']) void queries.invalidateQueries({ queryKey: [key] })
      toast(
        version === undefined
          ? `Published as v${done.publishedVersion}`
          : `v${version} published again, as v${done.publishedVersion}`,
      )
    } catch (e) {
      setError(e)
    }
  }

  // Ctrl or Cmd and S saves.
  useEffect(() => {
    const keys = (e: globalThis.KeyboardEvent) => {
      if (e.key.toLowerCase() !== 's' || !(e.ctrlKey || e.metaKey)) return
      e.preventDefault()
      if (manage) save().catch(() => undefined)
    }
    addEventListener('keydown', keys)
    return () => removeEventListener('keydown', keys)
  }, [manage, save])

  const go = (t: string) =>
    void navigate({
      to: '/agents/$agentId',
      params: { agentId: agent.id },
      search: { tab: t === 'draft' ? undefined : t },
      replace: true,
    })
  const publishable = dirty || agent.draftChanged || agent.publishedVersion === null
  return (
    <main className="page-full" id="main" tabIndex={-1}>
      <header className="page-head">
        <h1>{draft.name || agent.id}</h1>
        <span className="font-mono text-[12.5px] text-ink-3">{agent.id}</span>
        {agent.publishedVersion !== null && <Chip>v{agent.publishedVersion} published</Chip>}
        {dirty ? <Chip tone="waiting">Not saved</Chip> : publishable ? <Chip tone="waiting">Draft differs</Chip> : null}
        <div className="actions">
          {manage && (
            <Button disabled={!dirty || saving || said?.valid === false} onClick={() => save().catch(() => undefined)}>
              {saving ? 'Saving…' : 'Save draft'}
            </Button>
          )}
          {may('agent.publish') && (
            <Button primary disabled={!publishable || saving || said?.valid === false} onClick={() => void publish()}>
              Publish
            </Button>
          )}
        </div>
      </header>
      {error !== undefined && (
        <SaveFailure error={error} reload={() => void queries.resetQueries({ queryKey: ['agent', agent.id] })} />
      )}
      <div className="split">
        <div>
          <div className="tabs" role="tablist" aria-label="Parts of the agent">
            {(
              [
                ['draft', 'Configuration'],
                ['changes', 'Changes'],
                ['versions', 'Versions'],
              ] as const
            ).map(([t, word]) => (
              <button
                key={t}
                type="button"
                role="tab"
                id={`tab-${t}`}
                aria-selected={tab === t}
                aria-controls="agent-tab"
                className="tab"
                onClick={() => go(t)}
              >
                {word}
                {t === 'draft' && faults.length > 0 && <span className="count danger">{faults.length} wrong</span>}
              </button>
            ))}
          </div>
          <div id="agent-tab" role="tabpanel" aria-labelledby={`tab-${tab}`}>
            {tab === 'draft' && (
              <Configuration
                hasSecret={agent.hasCallbackSecret}
                draft={draft}
                onChange={setDraft}
                faults={faults}
                warnings={said?.warnings ?? []}
                agentId={agent.id}
                disabled={!manage}
                onDelete={() => setDeleting(true)}
              />
            )}
            {tab === 'changes' && <Changes agent={agent} config={draft.config} />}
            {tab === 'versions' && <Versions agent={agent} publish={publish} />}
          </div>
        </div>
        <Playground agent={agent} save={save} valid={said?.valid !== false} />
      </div>
      {deleting && (
        <Confirm
          title={`Delete ${agent.name || agent.id}?`}
          verb="Delete agent"
          onClose={() => setDeleting(false)}
          run={async () => {
            await must(api.DELETE('/agents/{agentId}', { params: { path: { agentId: agent.id } } }))
            await queries.invalidateQueries({ queryKey: ['agents'] })
            await navigate({ to: '/agents' })
          }}
        >
          <p>Nobody can ask it any more. Its sessions stay.</p>
        </Confirm>
      )}
    </main>
  )
}

function SaveFailure({ error, reload }: { error: unknown; reload: () => void }) {
  if (error instanceof Problem && error.code === 'agent_changed') {
    return (
      <div className="mb-4 flex items-center gap-3 rounded-lg bg-amber-soft px-4 py-3 text-amber" role="alert">
        <p>Somebody else changed this agent since you opened it. Your changes are not saved.</p>
        <Button className="bl-button ml-auto" onClick={reload}>
          Take theirs
        </Button>
      </div>
    )
  }
  return <Failure error={error} />
}

interface ConfigurationProps {
  hasSecret: boolean
  agentId: string
  draft: Draft
  onChange: (d: Draft) => void
  faults: Fault[]
  warnings: Fault[]
  disabled: boolean
  onDelete: () => void
}

function Configuration({
  agentId,
  draft,
  onChange,
  faults,
  warnings,
  disabled,
  onDelete,
  hasSecret,
}: ConfigurationProps) {
  const models = useQuery({ queryKey: ['models'], queryFn: () => must(api.GET('/models')) })
  const agents = useQuery(agentsQuery)
  const names: Options = (models.data?.data ?? []).map((m) => [m.key, m.key])
  const others: Options = (agents.data?.data ?? []).filter((a) => a.id !== agentId).map((a) => [a.id, a.name || a.id])
  const config = (c: Doc) => onChange({ ...draft, config: c })
  const shared = { doc: draft.config, onChange: config, prefix: 'config', faults, warnings, disabled }
  const general: Doc = { name: draft.name, status: draft.status }
  return (
    <div className="flex flex-col">
      <Fields
        specs={[
          { path: 'name', label: 'Name', kind: 'text', placeholder: agentId },
          {
            path: 'status',
            label: 'Status',
            kind: 'select',
            options: [
              ['active', 'Active'],
              ['disabled', 'Off: nobody can ask it'],
            ],
          },
        ]}
        doc={general}
        onChange={(d) =>
          onChange({ ...draft, name: String(d.name ?? ''), status: d.status === 'disabled' ? 'disabled' : 'active' })
        }
        prefix=""
        faults={faults}
        disabled={disabled}
      />
      <h2 className="section-title !mt-6">Answers</h2>
      <Fields specs={answerSpecs(names)} {...shared} />
      <h2 className="section-title">Tools</h2>
      <ToolsEditor
        config={draft.config}
        onChange={config}
        agents={others}
        faults={faults}
        warnings={warnings}
        disabled={disabled}
      />
      <h2 className="section-title">Limits</h2>
      <Fields specs={limitSpecs} {...shared} />
      <h2 className="section-title">Runs</h2>
      <Fields specs={executionSpecs} {...shared} />
      <div className="mt-4">
        <Fields
          specs={[
            {
              path: 'callbackSecret',
              label: 'Callback secret',
              kind: 'secret',
              hint: hasSecret
                ? 'One is stored; leave this empty to keep it'
                : 'Signs callbacks; kept encrypted, never shown',
            },
          ]}
          doc={{ callbackSecret: draft.callbackSecret }}
          onChange={(d) =>
            onChange({ ...draft, callbackSecret: typeof d.callbackSecret === 'string' ? d.callbackSecret : undefined })
          }
          prefix=""
          faults={faults}
          disabled={disabled}
        />
      </div>
      {!disabled && (
        <div className="mt-8 border-t border-line pt-4">
          <Button quiet onClick={onDelete}>
            Delete agent
          </Button>
        </div>
      )}
    </div>
  )
}

function useVersion(agentId: string, version: number | null | undefined) {
  return useQuery({
    queryKey: ['version', agentId, version],
    queryFn: () =>
      must(api.GET('/agents/{agentId}/versions/{version}', { params: { path: { agentId, version: version ?? 0 } } })),
    enabled: version != null,
    staleTime: Infinity,
  })
}

function Changes({ agent, config }: { agent: Agent; config: Doc }) {
  const query = useVersion(agent.id, agent.publishedVersion)
  if (agent.publishedVersion === null)
    return <p className="text-ink-2">Nothing is published yet: all of the draft is new.</p>
  return (
    <Loaded query={query}>
      {(v) => <Diff before={v.config} after={config} beforeName={`v${v.version}, published`} afterName="This draft" />}
    </Loaded>
  )
}

function Versions({ agent, publish }: { agent: Agent; publish: (version: number) => Promise<void> }) {
  const may = useMay()
  const [looking, setLooking] = useState<number>()
  const query = useQuery({
    queryKey: ['versions', agent.id],
    queryFn: () => must(api.GET('/agents/{agentId}/versions', { params: { path: { agentId: agent.id } } })),
  })
  const old = useVersion(agent.id, looking)
  const now = useVersion(agent.id, looking === undefined ? undefined : agent.publishedVersion)
  return (
    <Loaded
      query={query}
      empty={(d) => (d.data.length === 0 ? <p className="text-ink-2">Nothing has been published yet.</p> : undefined)}
    >
      {({ data }) => (
        <div className="flex flex-col gap-4">
          <div className="table-box" tabIndex={0}>
            <table className="table">
              <thead>
                <tr>
                  <th>Version</th>
                  <th>Published</th>
                  <th>By</th>
                  <th>
                    <span className="bl-hidden">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {data.map((v) => (
                  <tr key={v.version}>
                    <td>
                      v{v.version} {v.published && <StateChip state="active" word="Runs now" />}
                    </td>
                    <td>
                      <Ago at={v.createdAt} />
                    </td>
                    <td>{v.createdBy?.name ?? 'belay apply'}</td>
                    <td className="tight text-right">
                      {!v.published && (
                        <>
                          <Button quiet onClick={() => setLooking(v.version)}>
                            Compare<span className="bl-hidden"> v{v.version}</span>
                          </Button>
                          {may('agent.publish') && (
                            <Button quiet onClick={() => void publish(v.version)}>
                              Roll back<span className="bl-hidden"> to v{v.version}</span>
                            </Button>
                          )}
                        </>
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          {old.data && now.data && (
            <Diff
              before={now.data.config}
              after={old.data.config}
              beforeName={`v${now.data.version}, runs now`}
              afterName={`v${old.data.version}`}
            />
          )}
        </div>
      )}
    </Loaded>
  )
}

function Playground({ agent, save, valid }: { agent: Agent; save: () => Promise<Agent>; valid: boolean }) {
  const may = useMay()
  const [round, setRound] = useState(0)
  const canSave = may('agent.manage')
  // biome-ignore lint/correctness/useExhaustiveDependencies: a round is a new session
  const controller = useMemo(
    () =>
      new ChatController({
        door: studioDoor(
          agent.id,
          () => (canSave ? { draft: true } : {}),
          async () => {
            if (!canSave) return
            try {
              await save()
            } catch (e) {
              throw new Error(`The draft could not be saved: ${explain(e)}`)
            }
          },
        ),
      }),
    [agent.id, round, save, canSave],
  )
  useEffect(() => () => controller.close(), [controller])
  const view = useChat(controller)
  const place = usePlaceFor(useNames(principals(view.chat)))
  return (
    <section aria-label="Playground">
      <header className="flex h-12 flex-none items-center gap-3 border-b border-line px-4">
        <h2 className="text-[14px] font-semibold">Playground</h2>
        <span className="text-[12.5px] text-ink-3">
          {canSave ? 'tries the draft; sending saves it' : 'tries the published version'}
        </span>
        <Button
          quiet
          className="bl-button ml-auto"
          disabled={view.chat.turns.length === 0 || view.active}
          onClick={() => setRound((n) => n + 1)}
        >
          New session
        </Button>
      </header>
      <div className="min-h-0 flex-1">
        <Place value={place}>
          <Chat
            controller={controller}
            label="Playground"
            placeholder={valid ? 'Try it' : 'Mend the draft first'}
            mayAct={may('agent.run')}
            empty={
              <p className="m-auto max-w-[300px] py-8 text-center text-[13.5px] text-ink-3">
                Send a message to try the draft as it is on the left.
              </p>
            }
          />
        </Place>
      </div>
    </section>
  )
}
