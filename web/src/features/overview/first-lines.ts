import { cloudBlock, type commandLineHost } from '../workspaces/command-line.ts'

type Host = ReturnType<typeof commandLineHost>

/** The lines that sign a command line in. Without HTTPS a token does, in the shell that the later lines are pasted into. */
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

/** The request that makes a run task; `$GROUNDSTATE_TOKEN` is an API token. */
export function runTaskLines({ url }: Host, organization: string) {
  return `curl ${url}/api/v2/organizations/${organization}/tasks \\
  -H "Authorization: Bearer $GROUNDSTATE_TOKEN" \\
  -H "Content-Type: application/vnd.api+json" \\
  -d '{"data":{"type":"tasks","attributes":{"name":"my-check","category":"task","url":"https://…"}}}'`
}
