/** Labels such as `xn--…` are not among them: terraform wants them in Unicode. As in the server's `cli-config`. */
const LABEL = '(?!..--)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?'
const HOST_NAME = new RegExp(String.raw`^${LABEL}(?:\.${LABEL})*(?::\d{1,5})?$`, 'i')

/** The name of a server that CLIs reach without HTTPS, through `groundstate exec`. */
const PLAIN_NAME = 'groundstate.local'

/**
 * How CLIs reach the server whose pages are at `base`: its hostname in configurations, and whether
 * `terraform login` works, which wants HTTPS.
 */
export function commandLineHost(base: string) {
  const { protocol, host, origin, pathname } = new URL(base)
  const hasLogin = protocol === 'https:' && HOST_NAME.test(host) && pathname === '/'
  return { name: hasLogin ? host : PLAIN_NAME, hasLogin, url: `${origin}${pathname}`.replace(/\/$/, '') }
}

/** The `cloud` block of a configuration that works in the workspace. */
export function cloudBlock({
  host,
  organization,
  workspace,
}: {
  host: string
  organization: string
  workspace: string
}) {
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

/** The commands from a directory with this block to the first plan. */
export function firstCommands({ name, hasLogin, url }: ReturnType<typeof commandLineHost>) {
  return hasLogin
    ? `terraform login ${name}
terraform init
terraform plan`
    : `export GROUNDSTATE_URL=${url}
export GROUNDSTATE_TOKEN=…
groundstate exec -- terraform init
groundstate exec -- terraform plan`
}
