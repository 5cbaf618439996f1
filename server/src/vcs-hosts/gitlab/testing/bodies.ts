/** Bodies of GitLab's webhooks, from its documentation ("Webhook events") with a nested group. */

const project = {
  id: 15,
  name: 'Network',
  description: '',
  web_url: 'https://gitlab.example.com/acme/platform/network',
  avatar_url: null,
  git_ssh_url: 'git@gitlab.example.com:acme/platform/network.git',
  git_http_url: 'https://gitlab.example.com/acme/platform/network.git',
  namespace: 'Platform',
  visibility_level: 0,
  path_with_namespace: 'acme/platform/network',
  default_branch: 'main',
  ci_config_path: null,
}

const pusher = {
  user_id: 4,
  user_name: 'John Smith',
  user_username: 'jsmith',
  user_email: 'john@example.com',
  user_avatar: 'https://www.gravatar.com/avatar/d4c74594',
}

const HEAD = 'da1560886d4f094c3e6c9ef40349f7d38b5d27d7'
const ZERO = '0'.repeat(40)

export const push = {
  object_kind: 'push',
  event_name: 'push',
  before: '95790bf891e76fee5e1747ab589903a6a1f80f22',
  after: HEAD,
  ref: 'refs/heads/main',
  ref_protected: true,
  checkout_sha: HEAD,
  ...pusher,
  project_id: 15,
  project,
  commits: [
    {
      id: 'b6568db1bc1dcd7f8b4d5a946b0b91f9dacd7327',
      message: 'Add a subnet.\n\nFor the second zone.',
      title: 'Add a subnet.',
      timestamp: '2026-03-12T14:27:31+02:00',
      url: `${project.web_url}/-/commit/b6568db1bc1dcd7f8b4d5a946b0b91f9dacd7327`,
      author: { name: 'Jordi Mallach', email: 'jordi@example.com' },
      added: ['subnet.tf'],
      modified: ['main.tf'],
      removed: [],
    },
    {
      id: HEAD,
      message: 'Fix the readme',
      title: 'Fix the readme',
      timestamp: '2026-03-12T23:36:29+02:00',
      url: `${project.web_url}/-/commit/${HEAD}`,
      author: { name: 'John Smith', email: 'john@example.com' },
      added: [],
      modified: ['README.md'],
      removed: [],
    },
  ],
  total_commits_count: 2,
}

export const branchCreated = {
  ...push,
  before: ZERO,
  ref: 'refs/heads/feature/vpn',
  commits: [],
  total_commits_count: 0,
}
export const branchDeleted = { ...push, after: ZERO, checkout_sha: null, commits: [], total_commits_count: 0 }

/** An annotated tag: `after` is the id of the tag, `checkout_sha` that of the commit. */
export const tagPush = {
  ...push,
  object_kind: 'tag_push',
  event_name: 'tag_push',
  before: ZERO,
  after: '82b3d5ae55f7080f1e6022629cdb57bfae7cccc7',
  ref: 'refs/tags/v1.0.0',
}
export const tagDeleted = { ...tagPush, before: tagPush.after, after: ZERO, checkout_sha: null, commits: [] }

export const mergeRequest = {
  object_kind: 'merge_request',
  event_type: 'merge_request',
  user: {
    id: 51,
    name: 'John Smith',
    username: 'jsmith',
    avatar_url: 'https://www.gravatar.com/avatar/d4c74594',
    email: '[REDACTED]',
  },
  project,
  object_attributes: {
    id: 99,
    iid: 7,
    target_branch: 'main',
    source_branch: 'feature/vpn',
    source_project_id: 15,
    target_project_id: 15,
    author_id: 51,
    title: 'Add a VPN',
    description: 'For the office.',
    created_at: '2026-03-12T17:23:34Z',
    updated_at: '2026-03-12T17:23:34Z',
    state_id: 1,
    state: 'opened',
    draft: false,
    work_in_progress: false,
    merge_status: 'unchecked',
    merge_commit_sha: null as string | null,
    url: `${project.web_url}/-/merge_requests/7`,
    source: project,
    target: project,
    last_commit: {
      id: HEAD,
      message: 'Fix the readme',
      title: 'Fix the readme',
      timestamp: '2026-03-12T23:36:29+02:00',
      url: `${project.web_url}/-/commit/${HEAD}`,
      author: { name: 'John Smith', email: 'john@example.com' },
    },
    labels: [],
    action: 'open',
    detailed_merge_status: 'checking',
  },
  labels: [],
  changes: {},
  assignees: [],
  reviewers: [],
}

export const mergeRequestOf = (attributes: object, changes: object = {}) => ({
  ...mergeRequest,
  object_attributes: { ...mergeRequest.object_attributes, ...attributes },
  changes,
})

/** A comment on a merge request. */
export const note = {
  object_kind: 'note',
  event_type: 'note',
  user: mergeRequest.user,
  project_id: 15,
  project,
  object_attributes: { id: 1244, note: 'Looks good', noteable_type: 'MergeRequest', action: 'create' },
  merge_request: { id: 99, iid: 7 },
}
