import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { CodeBlock, shellArgument } from '../../components/copy.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { CODE_INPUT, TextField } from '../../components/form.tsx'
import { cliHost, cloudBlock, signInLines } from '../workspaces/connect-cli.tsx'
import type { ImportProps } from './import-state.ts'

type CommandGuideProps = ImportProps & { source: 'server' | 'backend' }

/** The commands that import states, with this server's address filled in. */
export function CommandGuide({ source, organization, workspace }: CommandGuideProps) {
  const host = cliHost(document.baseURI)
  const [url, setUrl] = useState('https://app.terraform.io')
  const [from, setFrom] = useState('')
  if (source === 'backend') {
    const name = workspace?.attributes.name ?? 'my-workspace'
    const run = host.hasLogin ? '' : 'groundstate exec -- '
    return (
      <Steps>
        <Step text="In the directory of the configuration, replace the backend block with this one:">
          <CodeBlock label="the cloud block" code={cloudBlock({ host: host.name, organization, workspace: name })} />
        </Step>
        <Step text="Connect your CLI:">
          <CodeBlock label="the sign-in commands" code={signInLines(host)} />
        </Step>
        <Step text="Initialise. The engine finds the state in the old backend and offers to copy it here:">
          <CodeBlock label="the command that migrates the state" code={`${run}terraform init`} />
        </Step>
        <Step text="Check that a plan shows no changes:">
          <CodeBlock label="the command that plans" code={`${run}terraform plan`} />
        </Step>
      </Steps>
    )
  }
  const address = url.trim()
  const selected = workspace ? ` --workspace ${workspace.attributes.name}` : ''
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label="Address of the other server"
          value={url}
          error={
            address === '' || (/^https?:\/\/[^\s/]\S*$/.test(address) && URL.canParse(address))
              ? undefined
              : 'enter an address that begins with https:// or http://'
          }
          onChange={({ target }) => setUrl(target.value)}
          {...CODE_INPUT}
        />
        <TextField
          label="Organization there"
          value={from}
          onChange={({ target }) => setFrom(target.value)}
          {...CODE_INPUT}
        />
      </div>
      <Steps>
        <Step
          text={
            <>
              Set one of your{' '}
              <Link to="/app/settings/tokens" className="text-accent underline">
                API tokens
              </Link>{' '}
              here, and a token of the other server that may read states:
            </>
          }
        >
          <CodeBlock label="the tokens" code={'export GROUNDSTATE_TOKEN=…\nexport GROUNDSTATE_FROM_TOKEN=…'} />
        </Step>
        <Step text="Copy the states with their history. Missing workspaces are created, and an interrupted import continues when you repeat the command:">
          <CodeBlock
            label="the command that imports the states"
            code={[
              'groundstate state import',
              `  --url ${host.url} --organization ${organization}${selected}`,
              `  --from-url ${shellArgument(address || 'https://app.terraform.io')}`,
              `  --from-organization ${shellArgument(from.trim() || 'their-organization')}`,
            ].join(' \\\n')}
          />
        </Step>
        <Step text="Point the cloud block of each configuration at this server, initialise again, and check that a plan shows no changes:">
          <CodeBlock
            label="the cloud block"
            code={cloudBlock({
              host: host.name,
              organization,
              workspace: workspace?.attributes.name ?? 'my-workspace',
            })}
          />
        </Step>
      </Steps>
      <p className="text-dim">
        Only states are copied, not variables or access. The server is any with the same API, such as HCP Terraform.{' '}
        <DocsLink page="operations" anchor="move-states-from-another-server">
          All options and rules
        </DocsLink>
      </p>
    </>
  )
}

function Steps({ children }: { children: ReactNode }) {
  return <ol className="list-outside list-decimal space-y-3 pl-5 marker:text-dim">{children}</ol>
}

function Step({ text, children }: { text: ReactNode; children: ReactNode }) {
  return (
    <li className="space-y-1.5">
      <p>{text}</p>
      {children}
    </li>
  )
}
