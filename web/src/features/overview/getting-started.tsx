import { Link } from '@tanstack/react-router'
import { ChevronDown, Circle, CircleCheck, Plus } from 'lucide-react'
import { type ReactNode, useId, useState, useSyncExternalStore } from 'react'
import { serverPath } from '../../api/base.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { CodeBlock } from '../../components/copy.tsx'
import { cloudBlock, cliHost } from '../workspaces/cli-setup.ts'
import type { Overview } from './overview.ts'

/** The name that the lines give the first workspace. */
const WORKSPACE = 'my-first-workspace'

/** The way from a new server to the first run. Each step ticks itself off when it is done, wherever that was. */
export function GettingStarted({ organization, overview, mayCreate, onHide }: GettingStartedProps) {
  const id = useId()
  const host = cliHost(document.baseURI)
  const steps: readonly StepProps[] = [
    {
      title: 'Connect your CLI',
      isDone: overview['has-token'],
      children: <SignIn host={host} />,
    },
    {
      title: 'Make the first workspace',
      isDone: overview['has-workspace'],
      children: mayCreate ? (
        <>
          <p>
            A workspace is the place of one configuration, with its variables, its state and its runs. Put this into a
            file main.tf in an empty directory, and{' '}
            {host.hasLogin ? <code>terraform init</code> : <code>groundstate exec -- terraform init</code>} makes the
            workspace:
          </p>
          <CodeBlock
            label="the first configuration"
            code={firstConfiguration({ host: host.name, organization, workspace: WORKSPACE })}
          />
          <p className="flex flex-wrap items-center gap-2">
            Or make it here, and get its block to copy:
            <Link
              to="/app/$organization/workspaces"
              params={{ organization }}
              search={{ new: true }}
              className={buttonClass({ size: 'small' })}
            >
              <Plus size={16} aria-hidden="true" />
              New workspace
            </Link>
          </p>
        </>
      ) : (
        <p>
          You may not make workspaces in {organization}: ask an owner of it for one, and put its block into your
          configuration.
        </p>
      ),
    },
    {
      title: 'Start the first run',
      isDone: overview['has-run'],
      children: (
        <>
          <p>In the directory of the configuration. The run is here, its log streams into your terminal:</p>
          <CodeBlock label="the commands of the first run" code={firstRunLines(host)} />
          <p className="text-dim">
            Programs upload a configuration through the{' '}
            <a href={serverPath('/docs/api')} className="text-accent underline">
              API
            </a>
            , and start a run with it.
          </p>
          {!mayCreate && (
            <CodeBlock
              label="the cloud block"
              code={cloudBlock({ host: host.name, organization, workspace: 'the-workspace' })}
            />
          )}
        </>
      ),
    },
    {
      title: 'Let a run task look at the plans',
      isOptional: true,
      isDone: overview['has-run-task'],
      children: (
        <>
          <p>
            A run task is a service of yours that is asked about each run: whether what is planned is secure, affordable
            or allowed. Make one with the address that it is asked at, and attach it on the tab <i>Tasks</i> of a
            workspace:
          </p>
          <CodeBlock label="the request that makes a run task" code={runTaskLines(host, organization)} />
        </>
      ),
    },
  ]
  const current = steps.findIndex(({ isDone, isOptional }) => !isDone && isOptional !== true)
  const needed = steps.filter(({ isOptional }) => isOptional !== true)
  const done = needed.filter(({ isDone }) => isDone).length
  const isOver = done === needed.length
  return (
    <section aria-labelledby={id} className="min-w-0 rounded-lg border border-line bg-paper">
      <header className="flex flex-wrap items-start gap-x-3 gap-y-1 px-4 pt-3 pb-3">
        <div className="min-w-0 flex-1">
          <h2 id={id} className="text-base font-medium">
            {isOver ? 'You are set up' : 'First steps'}
          </h2>
          <p role="status" className="mt-0.5 text-dim">
            {isOver ? 'From now on this page shows what needs your attention.' : `${done} of ${needed.length} done.`}
          </p>
        </div>
        <Button kind="quiet" size="small" onClick={onHide}>
          Hide
        </Button>
      </header>
      <ol className="border-t border-line">
        {steps.map((step, index) => (
          <Step key={step.title} {...step} isCurrent={index === current} />
        ))}
      </ol>
    </section>
  )
}

type GettingStartedProps = {
  organization: string
  overview: Overview
  /** Whether the person may make workspaces. */
  mayCreate: boolean
  onHide: () => void
}

type StepProps = { title: string; isDone: boolean; isOptional?: boolean; isCurrent?: boolean; children: ReactNode }

/** The step that comes next is open; the others can be opened. */
function Step({ title, isDone, isOptional = false, isCurrent = false, children }: StepProps) {
  // Whose turn has come opens, until the person decides otherwise.
  const [choice, setChoice] = useState<{ isCurrent: boolean; isOpen: boolean }>()
  const isOpen = choice?.isCurrent === isCurrent ? choice.isOpen : isCurrent
  const Icon = isDone ? CircleCheck : Circle
  return (
    <li className="border-b border-line last:border-0" aria-current={isCurrent ? 'step' : undefined}>
      <details open={isOpen} onToggle={({ currentTarget }) => setChoice({ isCurrent, isOpen: currentTarget.open })}>
        <summary className="flex items-center gap-2.5 px-4 py-2.5 hover:bg-hover">
          <Icon size={18} aria-hidden="true" className={`shrink-0 ${isDone ? 'text-good' : 'text-dim'}`} />
          <span className={isDone ? 'text-dim' : 'font-medium'}>{title}</span>
          {isDone && <span className="text-good">done</span>}
          {isOptional && !isDone && <span className="shrink-0 text-dim">optional</span>}
          <ChevronDown
            size={16}
            aria-hidden="true"
            className={`ml-auto shrink-0 text-dim transition-transform ${isOpen ? 'rotate-180' : ''}`}
          />
        </summary>
        <div className="space-y-3 pr-4 pb-4 pl-11">{children}</div>
      </details>
    </li>
  )
}

function SignIn({ host }: { host: ReturnType<typeof cliHost> }) {
  return (
    <>
      <p>
        {host.hasLogin ? (
          'Your browser opens and asks whether the terminal may act for you:'
        ) : (
          <>
            <code>groundstate exec</code>, which is in node_modules/.bin of the server's directory, runs terraform with
            everything set. It needs the address of this server and one of your{' '}
            <Link to="/app/settings/tokens" className="text-accent underline">
              API tokens
            </Link>
            :
          </>
        )}
      </p>
      <CodeBlock label="the lines that sign in" code={signInLines(host)} />
      <p className="text-dim">
        {host.hasLogin ? (
          <>
            If the certificate is of the server's own authority (<code>GROUNDSTATE_TLS=auto</code>), the terminal trusts
            it after <code>export SSL_CERT_FILE=&lt;data directory&gt;/tls/ca.pem</code>.
          </>
        ) : (
          <>
            <code>terraform login</code> wants HTTPS under a name: start the server with{' '}
            <code>GROUNDSTATE_TLS=auto npm start</code>, and let the terminal trust its authority by{' '}
            <code>export SSL_CERT_FILE=&lt;data directory&gt;/tls/ca.pem</code>.
          </>
        )}
      </p>
    </>
  )
}

/** The user's preference for the getting-started steps of an organization; shown by default in a new one. */
type GuideChoice = 'hidden' | 'shown'

const listeners = new Set<() => void>()
const keyOf = (organization: string) => `groundstate-first-steps ${organization}`

/** The choice of this browser. */
export function useGuideChoice(organization: string): GuideChoice | undefined {
  return useSyncExternalStore(
    (draw) => {
      listeners.add(draw)
      return () => listeners.delete(draw)
    },
    () => readChoice(localStorage.getItem(keyOf(organization))),
  )
}

export function setGuideChoice(organization: string, choice: GuideChoice) {
  localStorage.setItem(keyOf(organization), choice)
  for (const draw of listeners) draw()
}

function readChoice(text: string | null) {
  return text === 'hidden' || text === 'shown' ? text : undefined
}

type Host = ReturnType<typeof cliHost>

/** Commands that log the CLI in. Without HTTPS they set a token in the shell for the later commands. */
export function signInLines({ name, hasLogin, url }: Host) {
  return hasLogin ? `terraform login ${name}` : `export GROUNDSTATE_URL=${url}\nexport GROUNDSTATE_TOKEN=…`
}

/** A configuration that works in a new workspace, and needs no provider. */
export function firstConfiguration({ host, organization, workspace }: Parameters<typeof cloudBlock>[0]) {
  return `${cloudBlock({ host, organization, workspace })}

resource "terraform_data" "hello" {
  input = "hello"
}`
}

/** The commands of a first run, in the directory of the configuration. */
export function firstRunLines({ hasLogin }: Host) {
  const run = hasLogin ? '' : 'groundstate exec -- '
  return `${run}terraform init\n${run}terraform apply`
}

/** The request that creates a run task; `$GROUNDSTATE_TOKEN` is an API token. */
export function runTaskLines({ url }: Host, organization: string) {
  return `curl ${url}/api/v2/organizations/${organization}/tasks \\
  -H "Authorization: Bearer $GROUNDSTATE_TOKEN" \\
  -H "Content-Type: application/vnd.api+json" \\
  -d '{"data":{"type":"tasks","attributes":{"name":"my-check","category":"task","url":"https://…"}}}'`
}
