import type { GitResult } from '@groundstate/contract/git-operations'
import type { EventCommit, HostEvent, PullRequest } from '../../../vcs-hosts/host.ts'

/** The findings of a poll in a repository: commits by branch and by tag, and the open pull requests by number, without their texts. */
export type PolledRefs = {
  branches: Record<string, string>
  tags: Record<string, string>
  pullRequests: Record<string, PullRequest>
}

/** `openPullRequests` is undefined if the host could not list them: then the known ones stay. */
export function polledRefs(
  refs: GitResult<'refs'>,
  openPullRequests: readonly PullRequest[] | undefined,
  before: PolledRefs | null,
): PolledRefs {
  const byName = (list: GitResult<'refs'>['branches']) => Object.fromEntries(list.map(({ name, sha }) => [name, sha]))
  const open = openPullRequests?.map((pull) => [String(pull.number), { ...pull, body: '' }] as const)
  return {
    branches: byName(refs.branches),
    tags: byName(refs.tags),
    pullRequests: open ? Object.fromEntries(open) : (before?.pullRequests ?? {}),
  }
}

export type Changes = {
  /** Those of pull requests come first, since a push may be the merge of one. */
  events: HostEvent[]
  /** Pull requests that are no longer open: merged or closed. */
  gone: PullRequest[]
}

const NOBODY = { username: '', avatarUrl: '', pageUrl: '' }
const commitOf = (sha: string): EventCommit => ({ sha, message: '', url: '' })

/** The events between two polls, as a host would have reported them. Commits have no message yet. */
export function changesBetween(before: PolledRefs, now: PolledRefs): Changes {
  const pulls = Object.values(now.pullRequests).flatMap((pull): HostEvent[] => {
    const known = before.pullRequests[pull.number]
    if (known && known.head.sha === pull.head.sha && known.base.branch === pull.base.branch) return []
    const action = known ? 'updated' : 'opened'
    return [{ kind: 'pull-request', action, pullRequest: pull, sender: pull.author }]
  })
  const pushes = changedRefs(before.branches, now.branches).map(([branch, earlier, sha]): HostEvent => {
    const commit = sha === null ? null : commitOf(sha)
    return { kind: 'push', branch, before: earlier, commit, compareUrl: '', sender: NOBODY, changedFiles: null }
  })
  const tags = changedRefs(before.tags, now.tags).map(([tag, , sha]): HostEvent => {
    return { kind: 'tag', tag, commit: sha === null ? null : commitOf(sha), sender: NOBODY }
  })
  const gone = Object.values(before.pullRequests).filter(({ number }) => !now.pullRequests[number])
  return { events: [...pulls, ...pushes, ...tags], gone }
}

function changedRefs(before: Record<string, string>, now: Record<string, string>) {
  const [earlier, later] = [new Map(Object.entries(before)), new Map(Object.entries(now))]
  const names = new Set([...later.keys(), ...earlier.keys()])
  return [...names]
    .filter((name) => earlier.get(name) !== later.get(name))
    .map((name) => [name, earlier.get(name) ?? null, later.get(name) ?? null] as const)
}

/** Equal for reports of the same thing by a webhook and by polling. */
export function eventKey(event: HostEvent): string {
  switch (event.kind) {
    case 'push':
      return JSON.stringify([event.kind, event.branch, event.commit?.sha])
    case 'tag':
      return JSON.stringify([event.kind, event.tag, event.commit?.sha])
    case 'pull-request': {
      const { number, head, base } = event.pullRequest
      return JSON.stringify([event.kind, event.action, number, head.sha, base.branch])
    }
  }
}
