import { createHmac, randomUUID } from 'node:crypto'

/*
 * Bodies of webhooks and responses as https://forgejo.org/docs/latest/user/webhooks and the API reference of Gitea 1.24 describe them. Some
 * members of repositories that nobody needs are missing.
 */

export const ZEROS = '0'.repeat(40)
export const SHA = {
  main: '28e1879d029cb852e4844d9c718537df08844e03',
  pushed: 'bffeb74224043ba2feb48d137756c8a9331c449a',
  tagObject: 'a1b2c3d4e5f60718293a4b5c6d7e8f9012345678',
  merge: '5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f80',
}

const PAGE = 'https://git.acme.example/acme/network'

/** A webhook as Gitea sends it, signed with the secret. */
export function webhookRequest(event: string, content: object, { secret, id }: { secret: string; id?: string }) {
  const body = JSON.stringify(content)
  const headers = {
    'content-type': 'application/json',
    'x-gitea-event': event,
    'x-gitea-delivery': id ?? randomUUID(),
    'x-gitea-signature': createHmac('sha256', secret).update(body).digest('hex'),
  }
  return { method: 'POST', headers, body } as const
}

export const mona = {
  id: 7,
  login: 'mona',
  login_name: '',
  source_id: 0,
  full_name: 'Mona Lisa',
  email: 'mona@acme.example',
  avatar_url: 'https://git.acme.example/avatars/7',
  html_url: 'https://git.acme.example/mona',
  language: '',
  is_admin: false,
  last_login: '0001-01-01T00:00:00Z',
  created: '2024-03-04T08:00:00Z',
  restricted: false,
  active: false,
  prohibit_login: false,
  visibility: 'public',
  followers_count: 0,
  following_count: 0,
  starred_repos_count: 0,
  username: 'mona',
}
export const monaSender = {
  username: 'mona',
  avatarUrl: 'https://git.acme.example/avatars/7',
  pageUrl: 'https://git.acme.example/mona',
}

export function repository(fullName = 'acme/network', id = 140) {
  const [owner = '', name = ''] = fullName.split('/')
  return {
    id,
    owner: { ...mona, id: 3, login: owner, full_name: 'ACME', username: owner },
    name,
    full_name: fullName,
    description: '',
    empty: false,
    private: true,
    fork: false,
    template: false,
    parent: null,
    mirror: false,
    size: 24,
    language: 'HCL',
    html_url: `https://git.acme.example/${fullName}`,
    url: `https://git.acme.example/api/v1/repos/${fullName}`,
    ssh_url: `ssh://git@git.acme.example:2222/${fullName}.git`,
    clone_url: `https://git.acme.example/${fullName}.git`,
    original_url: '',
    website: '',
    stars_count: 0,
    open_issues_count: 1,
    default_branch: 'main',
    archived: false,
    created_at: '2024-03-04T08:00:00Z',
    updated_at: '2026-11-20T09:15:00Z',
    permissions: { admin: true, push: true, pull: true },
    has_pull_requests: true,
    object_format_name: 'sha1',
    topics: null,
  }
}

function commit(id: string) {
  const author = { name: 'Mona Lisa', email: 'mona@acme.example', username: 'mona' }
  return {
    id,
    message: 'Add a subnet for the database\n',
    url: `${PAGE}/commit/${id}`,
    author,
    committer: author,
    verification: null,
    timestamp: '2026-11-20T10:14:58+01:00',
    added: ['network/db.tf'],
    removed: [],
    modified: ['network/main.tf'],
  }
}

/** A push of one commit to `main`, unless `changes` says otherwise. */
export function push(changes: Record<string, unknown> = {}) {
  return {
    ref: 'refs/heads/main',
    before: SHA.main,
    after: SHA.pushed,
    compare_url: `${PAGE}/compare/${SHA.main}...${SHA.pushed}`,
    commits: [commit(SHA.pushed)] as unknown,
    total_commits: 1,
    head_commit: commit(SHA.pushed) as unknown,
    repository: repository(),
    pusher: mona,
    sender: mona,
    ...changes,
  }
}

export function deletion(kind: string, ref: string) {
  return { ref, ref_type: kind, pusher_type: 'user', repository: repository(), sender: mona }
}

export function pullRequest(changes: Record<string, unknown> = {}) {
  const branch = (name: string, sha: string) => ({ label: name, ref: name, sha, repo_id: 140, repo: repository() })
  return {
    id: 12,
    url: `${PAGE}/pulls/7`,
    number: 7,
    user: mona,
    title: 'Add a subnet for the database',
    body: 'It is needed by the new cluster.',
    labels: [],
    milestone: null,
    assignee: null,
    assignees: null,
    requested_reviewers: null,
    state: 'open',
    draft: false,
    is_locked: false,
    comments: 0,
    html_url: `${PAGE}/pulls/7`,
    diff_url: `${PAGE}/pulls/7.diff`,
    patch_url: `${PAGE}/pulls/7.patch`,
    mergeable: true,
    merged: false,
    merged_at: null as string | null,
    merge_commit_sha: null as string | null,
    merged_by: null,
    allow_maintainer_edit: false,
    base: branch('main', SHA.main),
    head: branch('add-subnet', SHA.pushed),
    merge_base: SHA.main,
    due_date: null,
    created_at: '2026-11-20T09:20:33Z',
    updated_at: '2026-11-20T09:20:33Z',
    closed_at: null,
    pin_order: 0,
    ...changes,
  }
}

export function pullRequestEvent(action: string, pull = pullRequest(), changes?: Record<string, unknown>) {
  return {
    action,
    number: pull.number,
    ...(changes ? { changes } : {}),
    pull_request: pull,
    requested_reviewer: null,
    repository: repository(),
    sender: mona,
    commit_id: '',
    review: null,
  }
}
