/*
 * Bodies of webhooks and responses as https://docs.github.com/webhooks/webhook-events-and-payloads describes them, without most of the
 * members ending in `_url`.
 */

export const ZEROS = '0'.repeat(40)
export const SHA = {
  main: '7f2a9c1d5b3e4f60718293a4b5c6d7e8f9012345',
  pushed: 'c0ffee254729296a45a3885639ac7e10f9d54979',
  tagObject: 'a1b2c3d4e5f60718293a4b5c6d7e8f9012345678',
  merge: '5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f80',
}

const PAGE = 'https://github.com/acme/network'

function account(login: string, id: number, type: 'User' | 'Organization' = 'User') {
  return {
    login,
    id,
    node_id: `MDQ6VXNlcj${id}`,
    avatar_url: `https://avatars.githubusercontent.com/u/${id}?v=4`,
    gravatar_id: '',
    url: `https://api.github.com/users/${login}`,
    html_url: `https://github.com/${login}`,
    type,
    user_view_type: 'public',
    site_admin: false,
  }
}

export const mona = account('mona', 583231)
export const monaSender = {
  username: 'mona',
  avatarUrl: 'https://avatars.githubusercontent.com/u/583231?v=4',
  pageUrl: 'https://github.com/mona',
}

export function repository(fullName = 'acme/network', id = 186853002) {
  const [owner = '', name = ''] = fullName.split('/')
  return {
    id,
    node_id: `R_kgDO${id}`,
    name,
    full_name: fullName,
    private: true,
    owner: account(owner, 9919, 'Organization'),
    html_url: `https://github.com/${fullName}`,
    description: null,
    fork: false,
    url: `https://api.github.com/repos/${fullName}`,
    created_at: '2024-03-04T08:00:00Z',
    updated_at: '2026-10-01T12:30:00Z',
    pushed_at: '2026-11-20T09:15:00Z',
    git_url: `git://github.com/${fullName}.git`,
    ssh_url: `git@github.com:${fullName}.git`,
    clone_url: `https://github.com/${fullName}.git`,
    svn_url: `https://github.com/${fullName}`,
    homepage: null,
    size: 412,
    stargazers_count: 3,
    language: 'HCL',
    has_issues: true,
    archived: false,
    disabled: false,
    license: null,
    topics: [],
    visibility: 'private',
    default_branch: 'main',
    permissions: { admin: true, maintain: true, push: true, triage: true, pull: true },
  }
}

export function commit(id: string, files: { added?: string[]; removed?: string[]; modified?: string[] } = {}) {
  const author = { name: 'Mona Lisa', email: 'mona@acme.example', username: 'mona' }
  return {
    id,
    tree_id: 'f9d2a07e9488b91af2641b26b9407fe22a451433',
    distinct: true,
    message: 'Add a subnet for the database\n\nRefs #12',
    timestamp: '2026-11-20T10:14:58+01:00',
    url: `${PAGE}/commit/${id}`,
    author,
    committer: author,
    added: [],
    removed: [],
    modified: [],
    ...files,
  }
}

/** A push of two commits to `main`, unless `changes` says otherwise. */
export function push(changes: Record<string, unknown> = {}) {
  const commits = [
    commit('9049f1265b7d61be4a8904a9a27120d2064dab3b', { added: ['network/db.tf'], modified: ['network/main.tf'] }),
    commit(SHA.pushed, { removed: ['legacy/old.tf'], modified: ['network/main.tf'] }),
  ]
  return {
    ref: 'refs/heads/main',
    before: SHA.main,
    after: SHA.pushed,
    repository: { ...repository(), created_at: 1709539200, pushed_at: 1795163698, master_branch: 'main' },
    pusher: { name: 'mona', email: 'mona@acme.example' },
    organization: { login: 'acme', id: 9919, url: 'https://api.github.com/orgs/acme', description: '' },
    sender: mona,
    created: false,
    deleted: false,
    forced: false,
    base_ref: null,
    compare: `${PAGE}/compare/7f2a9c1d5b3e...c0ffee254729`,
    commits,
    head_commit: commits[1] as ReturnType<typeof commit> | null,
    ...changes,
  }
}

/** Members of the deletion of a ref. */
export const deletion = { after: ZEROS, deleted: true, commits: [], head_commit: null }

export function pullRequest(changes: Record<string, unknown> = {}) {
  const branch = (ref: string, sha: string) => ({
    label: `acme:${ref}`,
    ref,
    sha,
    user: account('acme', 9919, 'Organization'),
    repo: repository() as ReturnType<typeof repository> | null,
  })
  return {
    url: 'https://api.github.com/repos/acme/network/pulls/7',
    id: 279147437,
    node_id: 'PR_kwDOCyUQ7M4QowSt',
    html_url: `${PAGE}/pull/7`,
    number: 7,
    state: 'open',
    locked: false,
    title: 'Add a subnet for the database',
    user: mona as typeof mona | null,
    body: 'It is needed by the new cluster.' as string | null,
    created_at: '2026-11-20T09:20:33Z',
    updated_at: '2026-11-20T09:20:33Z',
    closed_at: null,
    merged_at: null,
    merge_commit_sha: SHA.merge,
    assignee: null,
    assignees: [],
    requested_reviewers: [],
    requested_teams: [],
    labels: [],
    milestone: null,
    draft: false,
    head: branch('add-subnet', SHA.pushed),
    base: branch('main', SHA.main),
    author_association: 'MEMBER',
    auto_merge: null,
    active_lock_reason: null,
    ...changes,
  }
}

export function pullRequestEvent(action: string, pull = pullRequest(), changes?: Record<string, unknown>) {
  const counts = {
    merged: pull.merged_at !== null,
    mergeable: null,
    commits: 1,
    additions: 12,
    deletions: 0,
    changed_files: 1,
  }
  return {
    action,
    number: pull.number,
    ...(changes ? { changes } : {}),
    pull_request: { ...pull, ...counts },
    repository: repository(),
    organization: { login: 'acme', id: 9919, url: 'https://api.github.com/orgs/acme', description: '' },
    sender: mona,
  }
}

export function ping(url: string) {
  return {
    zen: 'Keep it logically awesome.',
    hook_id: 109948940,
    hook: {
      type: 'Repository',
      id: 109948940,
      name: 'web',
      active: true,
      events: ['push', 'pull_request'],
      config: { content_type: 'json', url, insecure_ssl: '0' },
      updated_at: '2026-11-20T09:00:00Z',
      created_at: '2026-11-20T09:00:00Z',
      last_response: { code: null, status: 'unused', message: null },
    },
    repository: repository(),
    sender: mona,
  }
}
