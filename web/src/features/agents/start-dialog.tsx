import { CircleCheck, LoaderCircle } from 'lucide-react'
import { type FormEvent, useId, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/copy.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { FormErrors, TextField, fieldError, formValues } from '../../components/form.tsx'
import { StatusText } from '../../components/status.tsx'
import { TabBar } from '../../components/tabs.tsx'
import { cliHost } from '../workspaces/connect-cli.tsx'
import { type AgentPool, useCreateAgentToken, useNewAgents } from './agent-pools.ts'
import { START_WAYS } from './start-commands.ts'

type StartDialogProps = { organization: string; pool: AgentPool; onClose: () => void }

/** Creates a token and shows the commands that start an agent with it, until the agent is connected. */
export default function StartDialog({ organization, pool, onClose }: StartDialogProps) {
  const form = useId()
  const create = useCreateAgentToken(pool.id)
  const { name } = pool.attributes
  const started = create.data

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    create.mutate(formValues(event.currentTarget)['description'] ?? '')
  }

  if (started) {
    return (
      <Dialog
        title="Start an agent"
        about={`The commands contain a new token of ${name}, which is shown only now.`}
        isOpen
        onClose={onClose}
        hasSecret
        width="max-w-3xl"
        footer={<Button label="Done" kind="primary" onClick={onClose} />}
      >
        <Commands token={started.secret} />
        <Connection organization={organization} poolId={pool.id} started={started} />
      </Dialog>
    )
  }
  return (
    <Dialog
      title="Start an agent"
      about={`An agent of ${name} identifies itself with a token. Several agents may share one.`}
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button label="Cancel" onClick={onClose} />
          <Button label="Create token" type="submit" form={form} kind="primary" isPending={create.isPending} />
        </>
      }
    >
      <form id={form} onSubmit={submit} className="space-y-4">
        <TextField
          label="Token description"
          name="description"
          hint="Where the agent runs. It helps you to find the token when you revoke it."
          placeholder="rack 7"
          required
          maxLength={255}
          autoFocus
          autoComplete="off"
          error={fieldError(create.error, 'description')}
        />
        <FormErrors error={create.error} names={['description']} />
      </form>
    </Dialog>
  )
}

type Way = keyof typeof START_WAYS
const WAYS = Object.keys(START_WAYS) as Way[]

function Commands({ token }: { token: string }) {
  const [open, setOpen] = useState<Way>('node')
  const { text, about, commands } = START_WAYS[open]
  const server = cliHost(document.baseURI).url
  return (
    <div className="space-y-2">
      <TabBar
        label="Ways to run it"
        tabs={WAYS.map((way) => ({
          text: START_WAYS[way].text,
          render: (props) => (
            <button
              type="button"
              aria-current={way === open || undefined}
              onClick={() => setOpen(way)}
              {...props}
              className={`cursor-pointer ${props.className}`}
            />
          ),
        }))}
      />
      <p className="text-dim">
        {about}{' '}
        <DocsLink page="run-an-agent" anchor={open === 'node' ? 'settings' : 'keep-it-running'}>
          {open === 'node' ? 'All settings' : 'Keep it running'}
        </DocsLink>
      </p>
      <CodeBlock label={`the commands for ${text}`} code={commands({ server, token })} />
    </div>
  )
}

type Started = NonNullable<ReturnType<typeof useCreateAgentToken>['data']>
type ConnectionProps = { organization: string; poolId: string; started: Started }

function Connection({ organization, poolId, started }: ConnectionProps) {
  const agents = useNewAgents(organization, poolId, started)
  return (
    <div role="status" className="mt-4 rounded-md border border-line px-3 py-2">
      {agents.length === 0 ? (
        <StatusText tone="busy" icon={LoaderCircle} isBusy text="Waiting for the agent to connect…" />
      ) : (
        agents.map(({ id, attributes }) => (
          <p key={id} className="flex flex-wrap items-center gap-x-2">
            <StatusText tone="good" icon={CircleCheck} text={`${attributes.name} is connected`} />
            <span className="text-dim">
              {attributes.engines.length === 0
                ? 'It has no engine yet and downloads what runs require.'
                : `Engines: ${attributes.engines.map(({ product, version }) => `${product} ${version}`).join(', ')}`}
            </span>
          </p>
        ))
      )}
    </div>
  )
}
