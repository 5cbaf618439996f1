import { Link } from '@tanstack/react-router'
import { Cable, ChevronDown, Circle, CircleCheck, FileInput, Plus, Upload } from 'lucide-react'
import { type ReactNode, useId, useState } from 'react'
import { Button, buttonClass } from '../../components/button.tsx'
import { CodeBlock } from '../../components/copy.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { ListLink } from '../../components/links.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { cloudBlock, cliHost, firstRunLines, signInLines } from '../workspaces/connect-cli.tsx'
import { useTargetReason } from '../workspaces/new-workspace.ts'
import type { Overview } from './overview.ts'

const WORKSPACE = 'my-first-workspace'

type GettingStartedProps = {
  organization: string
  overview: Overview
  mayCreate: boolean
  mayManageTasks: boolean
  onHide: () => void
}

/** Checklist from a new server to the first run. A step is done however it was achieved. */
export function GettingStarted({ organization, overview, mayCreate, mayManageTasks, onHide }: GettingStartedProps) {
  const id = useId()
  const host = cliHost(document.baseURI)
  const mayUpload = useTargetReason(organization, 'can-queue-run') === undefined
  const mayConnect = useOrganizationPermissions(organization)?.['can-update-oauth'] === true
  const mayImport = useTargetReason(organization, 'can-create-state-versions') === undefined
  const steps: readonly StepProps[] = [
    { title: 'Connect your CLI', isDone: overview['has-token'], children: <SignIn host={host} /> },
    {
      title: 'Create a workspace',
      isDone: overview['has-workspace'],
      children: mayCreate ? (
        <>
          <p>
            A workspace holds one configuration with its variables, state and runs. Save this as main.tf in an empty
            directory; {host.hasLogin ? <code>terraform init</code> : <code>groundstate exec -- terraform init</code>}{' '}
            then creates the workspace:
          </p>
          <CodeBlock
            label="the first configuration"
            code={firstConfiguration({ host: host.name, organization, workspace: WORKSPACE })}
          />
          <p className="flex flex-wrap items-center gap-2">
            Or create it here and copy its cloud block:
            <ListLink list="workspaces" search={{ new: true }} className={buttonClass({ size: 'small' })}>
              <Plus size={16} />
              New workspace
            </ListLink>
          </p>
        </>
      ) : (
        <>
          <p>
            You can’t create workspaces in {organization}. Ask an owner to create one, then add its cloud block to your
            configuration:
          </p>
          <CodeBlock
            label="the cloud block"
            code={cloudBlock({ host: host.name, organization, workspace: 'the-workspace' })}
          />
        </>
      ),
    },
    {
      title: 'Create a run',
      isDone: overview['has-run'],
      children: (
        <>
          <p>In the directory of the configuration. The run executes here and streams its log to your terminal:</p>
          <CodeBlock label="the commands of the first run" code={firstRunLines(host, 'apply')} />
          {mayUpload && (
            <p className="flex flex-wrap items-center gap-2">
              Or without the CLI, from a folder on this computer:
              <ListLink list="workspaces" search={{ upload: true }} className={buttonClass({ size: 'small' })}>
                <Upload size={16} />
                Upload configuration
              </ListLink>
            </p>
          )}
          <p className="flex flex-wrap items-center gap-2">
            {mayConnect ? 'Or by pushes to a repository:' : 'Or by pushes to a repository, once its host is connected.'}
            {mayConnect && (
              <ListLink list="connections/new" className={buttonClass({ size: 'small' })}>
                <Cable size={16} />
                Connect a repository
              </ListLink>
            )}
          </p>
          {mayImport && (
            <p className="flex flex-wrap items-center gap-2">
              Or with resources that are managed elsewhere:
              <ListLink list="workspaces" search={{ import: true }} className={buttonClass({ size: 'small' })}>
                <FileInput size={16} />
                Import state
              </ListLink>
            </p>
          )}
        </>
      ),
    },
    {
      title: 'Add a run task',
      isOptional: true,
      isDone: overview['has-run-task'],
      children: (
        <>
          <p>
            A run task is an external service that checks runs, for example for security, cost or policy (
            <DocsLink page="run-tasks">Run tasks</DocsLink>). Create one with the URL of the service, then attach it to
            workspaces.
          </p>
          {mayManageTasks ? (
            <ListLink list="run-tasks" search={{ new: true }} className={buttonClass({ size: 'small' })}>
              <Plus size={16} />
              New run task
            </ListLink>
          ) : (
            <p>You can’t create run tasks in {organization}: ask an owner.</p>
          )}
        </>
      ),
    },
  ]
  const current = steps.findIndex(({ isDone, isOptional }) => !isDone && isOptional !== true)
  const required = steps.filter(({ isOptional }) => isOptional !== true)
  const done = required.filter(({ isDone }) => isDone).length
  const isComplete = done === required.length
  return (
    <section aria-labelledby={id} className="min-w-0 rounded-lg border border-line bg-paper">
      <header className="flex flex-wrap items-start gap-x-3 gap-y-1 px-4 pt-3 pb-3">
        <div className="min-w-0 flex-1">
          <h2 id={id} className="text-base font-semibold">
            {isComplete ? 'Setup complete' : 'Get started'}
          </h2>
          <p role="status" className="mt-0.5 text-dim">
            {isComplete ? 'This page now shows what needs your attention.' : `${done} of ${required.length} done.`}
          </p>
        </div>
        <Button label="Hide" kind="quiet" size="small" onClick={onHide} />
      </header>
      <ol className="border-t border-line">
        {steps.map((step, index) => (
          <Step key={step.title} {...step} isCurrent={index === current} />
        ))}
      </ol>
    </section>
  )
}

type StepProps = { title: string; isDone: boolean; isOptional?: boolean; isCurrent?: boolean; children: ReactNode }

function Step({ title, isDone, isOptional = false, isCurrent = false, children }: StepProps) {
  // A step expands when it becomes current; the user's choice lasts until then.
  const [choice, setChoice] = useState<{ isCurrent: boolean; isOpen: boolean }>()
  const isOpen = choice?.isCurrent === isCurrent ? choice.isOpen : isCurrent
  const Icon = isDone ? CircleCheck : Circle
  return (
    <li className="border-b border-line last:border-0" aria-current={isCurrent ? 'step' : undefined}>
      <details open={isOpen} onToggle={({ currentTarget }) => setChoice({ isCurrent, isOpen: currentTarget.open })}>
        <summary className="flex items-center gap-2.5 px-4 py-2.5 hover:bg-hover">
          <Icon size={18} className={`shrink-0 ${isDone ? 'text-good' : 'text-dim'}`} />
          <span className={isDone ? 'text-dim' : 'font-medium'}>{title}</span>
          {isDone && <span className="text-good">done</span>}
          {isOptional && !isDone && <span className="shrink-0 text-dim">optional</span>}
          <ChevronDown
            size={16}
            className={`ml-auto shrink-0 text-dim transition-transform ${isOpen ? 'rotate-180' : ''}`}
          />
        </summary>
        <div className="space-y-3 pr-4 pb-4 pl-11">{children}</div>
      </details>
    </li>
  )
}

function SignIn({ host }: { host: Host }) {
  const trust = <code>export SSL_CERT_FILE=&lt;data directory&gt;/tls/ca.pem</code>
  return (
    <>
      <p>
        {host.hasLogin ? (
          'Your browser opens and asks for permission to let the terminal act as you:'
        ) : (
          <>
            <code>groundstate exec</code>, found in node_modules/.bin of the server's directory, runs terraform with the
            necessary settings. It needs the address of this server and one of your{' '}
            <Link to="/app/settings/tokens" className="text-accent underline">
              API tokens
            </Link>
            :
          </>
        )}
      </p>
      <CodeBlock label="the sign-in commands" code={signInLines(host)} />
      <p className="text-dim">
        {host.hasLogin ? (
          <>
            If the server issued its own certificate (<code>GROUNDSTATE_TLS=auto</code>), make the terminal trust it
            with {trust}.
          </>
        ) : (
          <>
            <code>terraform login</code> requires HTTPS and a host name: start the server with{' '}
            <code>GROUNDSTATE_TLS=auto npm start</code>, and make the terminal trust its authority with {trust}.
          </>
        )}
      </p>
    </>
  )
}

type Host = ReturnType<typeof cliHost>

export function firstConfiguration({ host, organization, workspace }: Parameters<typeof cloudBlock>[0]) {
  return `${cloudBlock({ host, organization, workspace })}

resource "terraform_data" "hello" {
  input = "hello"
}`
}
