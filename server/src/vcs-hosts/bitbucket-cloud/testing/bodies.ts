/** Bodies of Bitbucket Cloud's webhooks, from its documentation ("Event payloads"). */

const HTML = 'https://bitbucket.org/acme/network'
export const OLD = '40e7580cf11311d84a6e5e97e2cbba6df1675750'
export const NEW = '141977fedf5cf35aa290ac87d4b5177ac4cd9de1'

const actor = {
  display_name: 'Emma Jones',
  nickname: 'emmap1',
  account_id: '557058:2a6349dc',
  type: 'user',
  uuid: '{a54f16da-24e9-4d7f-a3a7-b1ba2cd98aa3}',
  links: {
    self: { href: 'https://api.bitbucket.org/2.0/users/%7Ba54f16da%7D' },
    html: { href: 'https://bitbucket.org/%7Ba54f16da%7D/' },
    avatar: { href: 'https://avatar.example.com/emmap1' },
  },
}

const repository = {
  type: 'repository',
  full_name: 'acme/network',
  name: 'network',
  uuid: '{673a6070-3421-46c9-9d48-90745f7bfe8e}',
  scm: 'git',
  is_private: true,
  website: null,
  links: {
    self: { href: 'https://api.bitbucket.org/2.0/repositories/acme/network' },
    html: { href: HTML },
    avatar: { href: 'https://bytebucket.org/ravatar/673a6070' },
  },
}

const target = (hash: string, message: string) => ({
  type: 'commit',
  hash,
  message,
  date: '2026-03-12T20:26:56+00:00',
  author: { type: 'author', raw: 'Emma Jones <emma@example.com>', user: actor },
  parents: [],
  links: { html: { href: `${HTML}/commits/${hash}` } },
})

const branch = (name: string, hash: string, message: string) => ({
  type: 'branch',
  name,
  target: target(hash, message),
  links: { html: { href: `${HTML}/branch/${name}` } },
})

const updated = {
  forced: false,
  created: false,
  closed: false,
  truncated: false,
  old: branch('main', OLD, 'Initial commit\n'),
  new: branch('main', NEW, 'Add a subnet\n'),
  links: { html: { href: `${HTML}/branches/compare/${NEW}..${OLD}` } },
  commits: [target(NEW, 'Add a subnet\n')],
}
const created = { ...updated, created: true, old: null, new: branch('feature/vpn', NEW, 'Add a subnet\n'), links: {} }
const deleted = { ...updated, closed: true, old: branch('old-name', OLD, 'Initial commit\n'), new: null, links: {} }
const tagged = {
  ...created,
  new: { type: 'tag', name: 'v1.0.0', target: target(NEW, 'Add a subnet\n'), message: null, links: {} },
}
const untagged = { ...deleted, old: tagged.new }

const pushOf = (...changes: object[]) => ({ push: { changes }, repository, actor })

export const push = pushOf(updated)
/** One push of two branches, a tag and two deletions. */
export const pushOfSeveral = pushOf(updated, created, deleted, tagged, untagged)
export const pushOfNothing = pushOf()

const side = (name: string, hash: string, fullName: string) => ({
  branch: { name },
  commit: { type: 'commit', hash, links: { html: { href: `${HTML}/commits/${hash}` } } },
  repository: { type: 'repository', full_name: fullName, name: 'network', links: {} },
})

/** The ids of commits have 12 digits here, unlike those of pushes. */
export const pullRequest = {
  actor,
  repository,
  pullrequest: {
    type: 'pullrequest',
    id: 7,
    title: 'Add a VPN',
    description: 'For the office.',
    state: 'OPEN',
    author: actor,
    source: side('feature/vpn', '507a576e59b3', 'acme/network'),
    destination: side('main', '7d1a175411ef', 'acme/network'),
    merge_commit: null as object | null,
    close_source_branch: false,
    closed_by: null,
    reason: '',
    created_on: '2026-03-12T21:51:39.492248+00:00',
    updated_on: '2026-03-12T21:51:39.532546+00:00',
    links: { html: { href: `${HTML}/pull-requests/7` } },
  },
}

export const pullRequestOf = (given: object) => ({
  ...pullRequest,
  pullrequest: { ...pullRequest.pullrequest, ...given },
})
export const fork = pullRequestOf({ source: side('feature/vpn', '507a576e59b3', 'emmap1/network') })
/** The repository of the source was deleted. */
export const lostFork = pullRequestOf({ source: { ...side('feature/vpn', '507a576e59b3', ''), repository: null } })
