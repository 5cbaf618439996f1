import type { Insertable } from 'kysely'
import type { Schema } from '../db/schema.gen.ts'
import { insertIngressAttributes } from '../features/repositories/git/store.ts'
import { insertConfigurationVersion } from '../features/runs/configuration-versions/service.ts'
import { uploadUrl } from '../features/runs/configuration-versions/urls.ts'
import { requireWorkspace } from '../features/workspaces/workspaces/access.ts'
import type { TestApp } from './app.ts'
import type { TestUser } from './factories.ts'
import { EMPTY_ARCHIVE, put } from './runs.ts'

type Commit = Partial<Insertable<Schema['ingress_attributes']>>

/** Connects an organization to GitHub; returns the id of the token. */
export async function connectGithub(app: TestApp, { organization, token }: { organization: string; token: string }) {
  const attributes = { 'service-provider': 'github', 'oauth-token-string': 'ghp_x' }
  const url = `/api/v2/organizations/${organization}/oauth-clients`
  const response = await app.request({
    method: 'POST',
    url,
    token,
    body: { data: { type: 'oauth-clients', attributes } },
  })
  if (response.status !== 201) throw new Error(`connecting failed: ${response.text}`)
  return response.json().data.relationships['oauth-tokens'].data[0].id as string
}

/** A configuration of a commit, with an archive as if that had been fetched; returns its id. */
export async function uploadCommit(
  app: TestApp,
  { user, workspaceId }: { user: TestUser; workspaceId: string },
  { commit = {}, speculative = false }: { commit?: Commit; speculative?: boolean } = {},
): Promise<string> {
  const workspace = await requireWorkspace(app.as(user.actor), workspaceId, 'runs:plan')
  const id = app.newId('ia')
  const sha = '9049f1265b7d61be4a8904a9a27120d2064dab3b'
  await insertIngressAttributes(app.db, {
    id,
    identifier: 'acme/network',
    branch: 'main',
    clone_url: 'https://github.com/acme/network.git',
    commit_sha: sha,
    commit_message: 'Add a subnet',
    commit_url: `https://github.com/acme/network/commit/${sha}`,
    compare_url: '',
    on_default_branch: true,
    sender_username: 'mona',
    sender_avatar_url: '',
    sender_html_url: '',
    created_at: app.now(),
    ...commit,
  })
  const version = await insertConfigurationVersion(app.as(user.actor), workspace, {
    input: { 'auto-queue-runs': false, speculative },
    source: 'github',
    status: 'pending',
    ingressAttributesId: id,
  })
  const upload = await put(app, uploadUrl(app, version), EMPTY_ARCHIVE)
  if (upload.status !== 200) throw new Error(`the upload failed: ${upload.text}`)
  return version.id
}
