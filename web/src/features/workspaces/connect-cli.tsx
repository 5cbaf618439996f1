import { Link } from '@tanstack/react-router'
import { CodeBlock } from '../../components/copy.tsx'
import { cloudBlock, commandLineHost, firstCommands } from './cli-setup.ts'

/** The lines to paste that lead from a directory with a configuration to a run in the workspace. */
export function ConnectCli({
  organization,
  workspace,
  isLocal = false,
}: {
  organization: string
  workspace: string
  /** The execution mode is local: the commands do the work themselves. */
  isLocal?: boolean
}) {
  const host = commandLineHost(document.baseURI)
  return (
    <ol className="list-outside list-decimal space-y-3 pl-5 text-left marker:text-dim">
      <li className="space-y-1.5">
        <p>Put this block into the configuration, in a file such as main.tf:</p>
        <CodeBlock label="the cloud block" code={cloudBlock({ host: host.name, organization, workspace })} />
      </li>
      <li className="space-y-1.5">
        <p>
          Connect your CLI, and plan.{' '}
          {isLocal
            ? 'The plan runs on your machine, with the state that is here, and '
            : 'The plan runs here, its log streams into the terminal, and '}
          <code>apply</code> in place of <code>plan</code> goes on to the apply:
        </p>
        <CodeBlock label="the commands" code={firstCommands(host)} />
        {!host.hasLogin && (
          <p className="text-dim">
            This page was served without TLS, which <code>terraform login</code> needs. So <code>groundstate exec</code>{' '}
            runs the commands with everything set. The token is one of your{' '}
            <Link to="/app/settings/tokens" className="text-accent underline">
              API tokens
            </Link>
            . With <code>GROUNDSTATE_TLS=auto</code> the server has TLS.
          </p>
        )}
      </li>
    </ol>
  )
}
