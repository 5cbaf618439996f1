import { Link } from '@tanstack/react-router'
import { CodeBlock } from '../../components/copy.tsx'

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

/** Excludes labels such as `xn--…`, which terraform expects in Unicode. As in the server's `cli-config`. */
const LABEL = '(?!..--)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?'
const HOST_NAME = new RegExp(String.raw`^${LABEL}(?:\.${LABEL})*(?::\d{1,5})?$`, 'i')

/** The host name that `groundstate exec` gives a server without HTTPS. */
const PLAIN_NAME = 'groundstate.local'

/** The host name of the server at `base` in configurations, and whether `terraform login` works, which requires HTTPS. */
export function cliHost(base: string) {
  const { protocol, host, origin, pathname } = new URL(base)
  const hasLogin = protocol === 'https:' && HOST_NAME.test(host) && pathname === '/'
  return { name: hasLogin ? host : PLAIN_NAME, hasLogin, url: `${origin}${pathname}`.replace(/\/$/, '') }
}

type CloudBlock = { host: string; organization: string; workspace: string }

export function cloudBlock({ host, organization, workspace }: CloudBlock) {
  return `terraform {
  cloud {
    hostname     = "${host}"
    organization = "${organization}"

    workspaces {
      name = "${workspace}"
    }
  }
}`
}

type Host = ReturnType<typeof cliHost>

/** Commands that log the CLI in. Without HTTPS, they set a token in the shell. */
export function signInLines({ name, hasLogin, url }: Host) {
  return hasLogin ? `terraform login ${name}` : `export GROUNDSTATE_URL=${url}\nexport GROUNDSTATE_TOKEN=…`
}

export function firstRunLines({ hasLogin }: Host, command: 'plan' | 'apply') {
  const run = hasLogin ? '' : 'groundstate exec -- '
  return `${run}terraform init\n${run}terraform ${command}`
}

export function firstCommands(host: Host) {
  return `${signInLines(host)}\n${firstRunLines(host, 'plan')}`
}
