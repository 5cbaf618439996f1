import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { createTestApp, type TestApp } from '../../testing/app.ts'
import { createOrganization, createUser, type TestUser } from '../../testing/factories.ts'
import { download, lockedWorkspace, rawState, type StateClient, stateClient } from '../../testing/state-versions.ts'

/** A server with two organizations and a directory, new for each test, between which states are moved. */
export type TransferSetting = {
  app: TestApp
  url: string
  ada: TestUser
  directory: string
  source: string
  target: string
}

/** Fills a setting before each test of the file that calls it. */
export function useTransferSetting(): TransferSetting {
  const setting = {} as TransferSetting
  const directories: string[] = []
  beforeAll(async () => {
    setting.app = await createTestApp()
    setting.url = await setting.app.listen()
    setting.ada = await createUser(setting.app)
  })
  beforeEach(async () => {
    setting.directory = await mkdtemp(join(tmpdir(), 'states-'))
    directories.push(setting.directory)
    setting.source = (await createOrganization(setting.app, setting.ada)).name
    setting.target = (await createOrganization(setting.app, setting.ada)).name
  })
  afterAll(async () => {
    for (const path of directories) await rm(path, { recursive: true, force: true })
  })
  return setting
}

export function serverOf({ url, ada }: TransferSetting, organization: string) {
  return { url, token: ada.token, organization }
}

/** A workspace of the source with these states. */
export async function workspaceWith({ app, source, ada }: TransferSetting, states: readonly Buffer[]) {
  const workspace = await lockedWorkspace(app, source, ada)
  for (const raw of states) await workspace.create(raw)
  await workspace.unlock()
  return workspace
}

export const versionsOf = (organization: string, name: string) =>
  `/state-versions?filter[organization][name]=${organization}&filter[workspace][name]=${name}&filter[status]=finalized`

/** The raw states of a workspace, the oldest first. */
export async function contents({ app, ada }: TransferSetting, organization: string, name: string) {
  const { data } = (await app.request({ url: `/api/v2${versionsOf(organization, name)}`, token: ada.token })).json()
  const found = await Promise.all(data.map((one: any) => download(app, one.attributes['hosted-state-download-url'])))
  return found.map((response) => response.text).toReversed()
}

export const HISTORY = [
  rawState({ serial: 1 }),
  rawState({ serial: 4, outputs: { a: 'b' }, resources: ['big'], padding: 500_000 }),
  rawState({ serial: 5 }),
]

/** A client of the state of a workspace. */
export async function clientIn(
  { app, ada }: TransferSetting,
  organization: string,
  name: string,
): Promise<StateClient> {
  const response = await app.request({
    url: `/api/v2/organizations/${organization}/workspaces/${name}`,
    token: ada.token,
  })
  return stateClient(app, { id: response.json().data.id, name }, ada.token)
}
