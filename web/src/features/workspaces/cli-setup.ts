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

export function firstCommands({ name, hasLogin, url }: ReturnType<typeof cliHost>) {
  return hasLogin
    ? `terraform login ${name}
terraform init
terraform plan`
    : `export GROUNDSTATE_URL=${url}
export GROUNDSTATE_TOKEN=…
groundstate exec -- terraform init
groundstate exec -- terraform plan`
}
