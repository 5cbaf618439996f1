import { beforeAll, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../testing/app.ts'
import { createOrganization, createUser, createWorkspace, type TestUser } from '../../testing/factories.ts'
import { rawState, stateVersionBody, upload } from '../../testing/state-versions.ts'

let app: TestApp
let ada: TestUser
let organization: string

beforeAll(async () => {
  app = await createTestApp()
  ada = await createUser(app)
  organization = (await createOrganization(app, ada)).name
})

async function lockedWorkspace() {
  const workspace = await createWorkspace(app, { organization })
  await app.request({ method: 'POST', url: `/api/v2/workspaces/${workspace.id}/actions/lock`, token: ada.token })
  return workspace
}

describe('state versions', () => {
  test('inline', async () => {
    const workspace = await lockedWorkspace()
    const raw = rawState({ outputs: { a: 'x' }, resources: ['one', 'two'] })

    const answer = await app.request({
      method: 'POST',
      url: `/api/v2/workspaces/${workspace.id}/state-versions`,
      token: ada.token,
      body: stateVersionBody(raw),
    })

    expect(answer.text).toMatchInlineSnapshot(
      `"{"data":{"id":"sv-akvHtbcrK1p2yjAG","type":"state-versions","attributes":{"created-at":"2026-11-21T11:52:33.758Z","size":894,"hosted-state-download-url":"http://groundstate.test/_objects/v1/object/sv-akvHtbcrK1p2yjAG-raw.towmfl.JBV1ZvpmmBlXdEybXJijeF_-ZvP4IY-7","hosted-json-state-download-url":null,"hosted-state-upload-url":null,"hosted-json-state-upload-url":null,"modules":{"root":{"terraform-data":2}},"providers":{"provider[\\"terraform.io/builtin/terraform\\"]":{"terraform-data":2}},"resources":[{"name":"one","type":"terraform_data","count":1,"module":"root","provider":"provider[\\"terraform.io/builtin/terraform\\"]"},{"name":"two","type":"terraform_data","count":1,"module":"root","provider":"provider[\\"terraform.io/builtin/terraform\\"]"}],"resources-processed":true,"intermediate":false,"serial":1,"state-version":4,"status":"finalized","engine-version":"1.11.4","terraform-version":"1.11.4"},"relationships":{"run":{"data":null},"created-by":{"data":{"id":"user-PvAUeHMLfECCqUWe","type":"users"},"links":{"self":"/api/v2/users/user-PvAUeHMLfECCqUWe","related":"/api/v2/users/user-PvAUeHMLfECCqUWe"}},"workspace":{"data":{"id":"ws-Ue8WXFw5Hh4d1Ynz","type":"workspaces"}},"outputs":{"data":[{"id":"wsout-aKn6vqNb87rYgVKC","type":"state-version-outputs"}]}},"links":{"self":"/api/v2/state-versions/sv-akvHtbcrK1p2yjAG"}}}"`,
    )
    const current = await app.request({
      url: `/api/v2/workspaces/${workspace.id}/current-state-version`,
      token: ada.token,
    })
    expect(current.status).toBe(200)
    const url = current.json().data.attributes['hosted-state-download-url']
    const download = await app.request({ url: new URL(url).pathname })
    expect(download.bytes.equals(raw)).toBe(true)
    const outputs = await app.request({
      url: `/api/v2/workspaces/${workspace.id}/current-state-version-outputs`,
      token: ada.token,
    })
    expect(outputs.json().data[0].attributes.value).toBe('x')
  })

  test('upload', async () => {
    const workspace = await lockedWorkspace()
    const raw = rawState({ outputs: { a: 'x' }, resources: ['one', 'two'] })

    const answer = await app.request({
      method: 'POST',
      url: `/api/v2/workspaces/${workspace.id}/state-versions`,
      token: ada.token,
      body: stateVersionBody(raw, { state: undefined }),
    })

    expect(answer.status).toBe(201)
    const { attributes } = answer.json().data
    expect(attributes.status).toBe('pending')
    expect((await upload(app, attributes['hosted-json-state-upload-url'], Buffer.from('{}'))).status).toBe(200)
    const put = await upload(app, attributes['hosted-state-upload-url'], raw)
    expect(put.text).toBe('')
    expect(put.status).toBe(200)
    const list = await app.request({
      url: `/api/v2/state-versions?filter[organization][name]=${organization}&filter[workspace][name]=${workspace.name}`,
      token: ada.token,
    })
    expect(list.json().meta.pagination['total-count']).toBe(1)
  })
})
