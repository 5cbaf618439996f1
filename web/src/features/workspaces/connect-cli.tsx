import { Link } from '@tanstack/react-router'
import { CodeBlock } from '../../components/copy.tsx'
import { cliHost, cloudBlock, firstCommands } from './cli-setup.ts'

/** `isLocal`: the execution mode is local, so the CLI plans and applies on its own. */
type ConnectCliProps = { organization: string; workspace: string; isLocal?: boolean }

/** Code to paste, from a directory with a configuration to a run in the workspace. */
export function ConnectCli({ organization, workspace, isLocal = false }: ConnectCliProps) {
  const host = cliHost(document.baseURI)
  return (
    <ol className="list-outside list-decimal space-y-3 pl-5 text-left marker:text-dim">
      <li className="space-y-1.5">
        <p>Add this block to the configuration, for example in main.tf:</p>
        <CodeBlock label="the cloud block" code={cloudBlock({ host: host.name, organization, workspace })} />
      </li>
      <li className="space-y-1.5">
        <p>
          Connect your CLI and plan.{' '}
          {isLocal
            ? 'The plan runs on your machine with the state stored here. '
            : 'The plan runs here and streams its log to the terminal. '}
          To apply, replace <code>plan</code> with <code>apply</code>.
        </p>
        <CodeBlock label="the commands" code={firstCommands(host)} />
        {!host.hasLogin && (
          <p className="text-dim">
            <code>terraform login</code> requires TLS, which this page was served without, so{' '}
            <code>groundstate exec</code> runs the commands with the necessary settings. The token is one of your{' '}
            <Link to="/app/settings/tokens" className="text-accent underline">
              API tokens
            </Link>
            . <code>GROUNDSTATE_TLS=auto</code> enables TLS on the server.
          </p>
        )}
      </li>
    </ol>
  )
}
