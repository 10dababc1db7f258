import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { Problem } from '../../shared/problem.ts'
import { api, must } from '../api.ts'
import { Button, Empty, Failure, Field, Page } from '../ui.tsx'

export function NewAgent() {
  const navigate = useNavigate()
  const queries = useQueryClient()
  const models = useQuery({ queryKey: ['models'], queryFn: () => must(api.GET('/models')) })
  const [id, setId] = useState('')
  const [name, setName] = useState('')
  const [model, setModel] = useState('')
  const [instructions, setInstructions] = useState('')
  const [error, setError] = useState<unknown>()
  const chosen = model || models.data?.data[0]?.key || ''
  const at = error instanceof Problem ? error.param : undefined

  const submit = async (e: FormEvent) => {
    e.preventDefault()
    setError(undefined)
    try {
      const config = { model: chosen, instructions: instructions || undefined }
      const made = await must(api.POST('/agents', { body: { id, name: name || undefined, config } }))
      await queries.invalidateQueries({ queryKey: ['agents'] })
      await navigate({ to: '/agents/$agentId', params: { agentId: made.id } })
    } catch (e) {
      setError(e)
    }
  }

  if (models.data?.data.length === 0) {
    return (
      <Page title="New agent">
        <Empty title="First add a model" command="belay apply -f belay.yaml">
          <p>An agent answers with a model of yours. Add one under Models and tools, or by a file.</p>
        </Empty>
      </Page>
    )
  }
  return (
    <Page title="New agent">
      <form onSubmit={submit} className="flex max-w-[560px] flex-col gap-4">
        {error !== undefined && !at && <Failure error={error} />}
        <Field
          label="Key"
          hint="What programs call it: a-z, 0-9, - and _"
          fault={at === 'id' || at === 'key' ? (error as Problem).message : undefined}
        >
          {(c) => <input {...c} className="input mono" required value={id} onChange={(e) => setId(e.target.value)} />}
        </Field>
        <Field label="Name" fault={at === 'name' ? (error as Problem).message : undefined}>
          {(c) => (
            <input {...c} className="input" value={name} placeholder={id} onChange={(e) => setName(e.target.value)} />
          )}
        </Field>
        <Field label="Model" fault={at?.startsWith('config') ? (error as Problem).message : undefined}>
          {(c) => (
            <select {...c} className="input" value={chosen} onChange={(e) => setModel(e.target.value)}>
              {models.data?.data.map((m) => (
                <option key={m.key}>{m.key}</option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Instructions" hint="More in the editor">
          {(c) => (
            <textarea
              {...c}
              className="input"
              rows={6}
              value={instructions}
              onChange={(e) => setInstructions(e.target.value)}
            />
          )}
        </Field>
        <div className="flex gap-2">
          <Button type="submit" primary>
            Make agent
          </Button>
          <Button onClick={() => void navigate({ to: '/agents' })}>Cancel</Button>
        </div>
      </form>
    </Page>
  )
}
