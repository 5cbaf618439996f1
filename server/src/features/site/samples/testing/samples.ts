import type { TestApp } from '../../../../testing/app.ts'
import { createOrganization, createUser, type TestUser } from '../../../../testing/factories.ts'

/** An owner of an organization without a sample. */
export type Owner = { app: TestApp; user: TestUser; organization: string; organizationId: string }

export async function createOwner(app: TestApp): Promise<Owner> {
  const user = await createUser(app)
  const { id, name } = await createOrganization(app, user)
  return { app, user, organization: name, organizationId: id }
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

export async function send({ app, user }: Owner, [method, path]: [method: Method, path: string], body?: unknown) {
  return app.request({ method, url: `/api/v2${path}`, token: user.token, ...(body !== undefined && { body }) })
}

export async function read(owner: Owner, path: string) {
  return (await send(owner, ['GET', path])).json().data
}

export async function makeSample(owner: Owner) {
  return send(owner, ['POST', `/organizations/${owner.organization}/actions/make-sample`])
}

export async function readSample(owner: Owner) {
  return read(owner, `/organizations/${owner.organization}/sample`)
}

export async function removeSample(owner: Owner) {
  return send(owner, ['DELETE', `/organizations/${owner.organization}/sample`])
}

/** The id of a related resource of a sample. */
export function idOf(sample: any, relation: string): string {
  return sample.relationships[relation].data?.id
}

/** The names of all resources in the organization's lists that a sample contains. */
export async function listAll(owner: Owner) {
  const names = async (list: string) => {
    const things = await read(owner, `/organizations/${owner.organization}/${list}`)
    return things.map((thing: any) => thing.attributes.name).toSorted()
  }
  return {
    projects: await names('projects'),
    workspaces: await names('workspaces'),
    tasks: await names('tasks'),
    sets: await names('varsets'),
  }
}

/** The result of `listAll` without a sample. */
export const BARE = { projects: ['Default Project'], workspaces: [], tasks: [], sets: [] }
/** The result of `listAll` with a sample. */
export const MADE = {
  projects: ['Default Project', 'Sample'],
  workspaces: ['sample-app', 'sample-network'],
  tasks: ['sample-review'],
  sets: ['sample-settings'],
}
