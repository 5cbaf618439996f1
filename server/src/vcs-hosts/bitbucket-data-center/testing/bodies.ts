/** Bodies of the webhooks of Bitbucket Data Center, from its documentation ("Event payload"). */

const BASE = 'https://bitbucket.example.com'
export const OLD = 'ecddabb624f6f5ba43816f5926e580a5f680a932'
export const NEW = '178864a7d521b6f5e720b386b2c2b0ef8563e0dc'
const ZERO = '0'.repeat(40)

const actor = {
  name: 'jcitizen',
  emailAddress: 'jane@example.com',
  id: 1,
  displayName: 'Jane Citizen',
  active: true,
  slug: 'jcitizen',
  type: 'NORMAL',
  links: { self: [{ href: `${BASE}/users/jcitizen` }] },
}

const repositoryOf = (key: string, id: number) => ({
  slug: 'network',
  id,
  name: 'network',
  scmId: 'git',
  state: 'AVAILABLE',
  statusMessage: 'Available',
  forkable: true,
  project: { key, id: 2, name: key, public: false, type: 'NORMAL' },
  public: false,
  links: {
    clone: [
      { href: `ssh://git@bitbucket.example.com:7999/${key.toLowerCase()}/network.git`, name: 'ssh' },
      { href: `${BASE}/scm/${key.toLowerCase()}/network.git`, name: 'http' },
    ],
    self: [{ href: `${BASE}/projects/${key}/repos/network/browse` }],
  },
})
const repository = repositoryOf('ACME', 84)

const changeOf = (id: string, fromHash: string, toHash: string, type: string) => ({
  ref: {
    id,
    displayId: id.replace(/^refs\/(?:heads|tags)\//, ''),
    type: id.startsWith('refs/tags/') ? 'TAG' : 'BRANCH',
  },
  refId: id,
  fromHash,
  toHash,
  type,
})

export const push = {
  eventKey: 'repo:refs_changed',
  date: '2026-03-12T09:45:32+1000',
  actor,
  repository,
  changes: [changeOf('refs/heads/main', OLD, NEW, 'UPDATE')],
  commits: [{ id: NEW, displayId: '178864a7d52', message: 'Add a subnet' }],
  toCommit: { id: NEW, displayId: '178864a7d52', message: 'Add a subnet' },
}

/** As versions before 7 send it: no links, no commits. */
export const pushOfOldVersion = {
  eventKey: push.eventKey,
  date: push.date,
  actor: { ...actor, links: undefined },
  repository: { ...repository, links: undefined },
  changes: push.changes,
}

export const pushOfSeveral = {
  ...push,
  changes: [
    ...push.changes,
    changeOf('refs/heads/feature/vpn', ZERO, NEW, 'ADD'),
    changeOf('refs/heads/old-name', OLD, ZERO, 'DELETE'),
    changeOf('refs/tags/v1.0.0', ZERO, NEW, 'ADD'),
    changeOf('refs/tags/v0.9.0', OLD, ZERO, 'DELETE'),
  ],
}

const sideOf = (name: string, latestCommit: string, of: object) => ({
  id: `refs/heads/${name}`,
  displayId: name,
  latestCommit,
  type: 'BRANCH',
  repository: of,
})

export const pullRequest = {
  id: 7,
  version: 0,
  title: 'Add a VPN',
  description: 'For the office.',
  state: 'OPEN',
  open: true,
  closed: false,
  createdDate: 1_773_336_214_216,
  updatedDate: 1_773_336_214_216,
  fromRef: sideOf('feature/vpn', NEW, repository),
  toRef: sideOf('main', OLD, repository),
  locked: false,
  author: { user: actor, role: 'AUTHOR', approved: false, status: 'UNAPPROVED' },
  reviewers: [],
  participants: [],
  links: { self: [{ href: `${BASE}/projects/ACME/repos/network/pull-requests/7` }] },
}
export const opened = { eventKey: 'pr:opened', date: '2026-03-12T09:58:11+1000', actor, pullRequest }

export const fork = {
  ...opened,
  pullRequest: { ...pullRequest, fromRef: sideOf('feature/vpn', NEW, repositoryOf('~jcitizen', 91)) },
}
export const fromRefUpdated = { ...opened, eventKey: 'pr:from_ref_updated', previousFromHash: OLD }

const modifiedFrom = (id: string) => ({
  ...opened,
  eventKey: 'pr:modified',
  previousTitle: 'A VPN',
  previousDescription: '',
  previousTarget: { id, displayId: id, type: 'BRANCH', latestCommit: OLD, latestChangeset: OLD },
})
export const retitled = modifiedFrom('refs/heads/main')
export const retargeted = modifiedFrom('refs/heads/next')

export const merged = {
  ...opened,
  eventKey: 'pr:merged',
  pullRequest: {
    ...pullRequest,
    state: 'MERGED',
    open: false,
    closed: true,
    properties: { mergeCommit: { displayId: '7e48f426f0a', id: '7e48f426f0a6e47c5b5e862c31be6ca965f82c9c' } },
  },
}
export const declined = { ...opened, eventKey: 'pr:declined', pullRequest: { ...pullRequest, state: 'DECLINED' } }
export const deleted = { ...declined, eventKey: 'pr:deleted' }

/** Sent by "Test connection". */
export const ping = { test: true }
