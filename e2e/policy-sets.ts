import { testOpa } from '../agent/src/testing/opa.ts'
import { ADMIN_TOKEN, type BootedServer } from './server.ts'

/** Settings with which the agents of a server find OPA, or its stand-in. */
export function opaSettings(): Record<string, string> {
  return { GROUNDSTATE_OPA_PATH: testOpa().path }
}

type Policy = { name: string; level?: 'mandatory' | 'advisory'; code: string; description?: string }

/** Lets a server evaluate policies with the OPA of tests, whichever version it has. */
export async function enableOpa(server: BootedServer) {
  const { version } = testOpa()
  const known = (await server.api('GET', `/admin/opa-versions?filter[version]=${version}`)).data
  if (known.length > 0) return
  const url = `https://opa.example/${version}`
  await server.api('POST', '/admin/opa-versions', {
    data: { type: 'opa-versions', attributes: { version, url, official: true, enabled: true } },
  })
}

/** Creates policies, which have the query `data.<name>.deny`, and a set of them for these workspaces, or for all. */
export async function policySet(
  server: BootedServer,
  {
    policies,
    workspaces,
    ...attributes
  }: { name: string; policies: readonly Policy[]; workspaces?: string[] } & Record<string, unknown>,
): Promise<string> {
  await enableOpa(server)
  const ids = []
  for (const policy of policies) ids.push(await createPolicy(server, policy))
  const { data } = await server.api('POST', '/organizations/main/policy-sets', {
    data: {
      type: 'policy-sets',
      attributes: {
        kind: 'opa',
        global: workspaces === undefined,
        'policy-tool-version': testOpa().version,
        ...attributes,
      },
      relationships: {
        policies: { data: ids.map((id) => ({ type: 'policies', id })) },
        ...(workspaces && { workspaces: { data: workspaces.map((id) => ({ type: 'workspaces', id })) } }),
      },
    },
  })
  return data.id
}

async function createPolicy(server: BootedServer, { name, level = 'mandatory', code, description }: Policy) {
  const attributes = { name, kind: 'opa', query: `data.${name}.deny`, 'enforcement-level': level, description }
  const { data } = await server.api('POST', '/organizations/main/policies', {
    data: { type: 'policies', attributes },
  })
  const response = await fetch(`${server.url}/api/v2/policies/${data.id}/upload`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/octet-stream' },
    body: `package ${name}\n\nimport rego.v1\n\n${code}\n`,
  })
  if (!response.ok) throw new Error(`the upload of a policy returned ${response.status}: ${await response.text()}`)
  return data.id as string
}
