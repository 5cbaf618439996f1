import { execFileSync } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { createLink, type Link } from './links.ts'

/** Hosts whose network can be partitioned silently: nothing arrives, and neither side gets an error. */
export type Network<Place extends string> = {
  /** Whether hosts are network namespaces; otherwise they are processes behind proxies, which cut only proxied traffic. */
  kind: 'namespaces' | 'proxies'
  /** Prefix of the commands that run there. */
  at: (place: Place) => readonly string[]
  /** The address that a program listens on there. */
  host: (place: Place) => string
  /** The address of this process, which is never partitioned. */
  own: string
  /** Address of another host's port, seen from `from`. */
  route: (from: Place, to: Place, port: number) => Promise<{ host: string; port: number }>
  /** Partitions two hosts, and reconnects them. */
  cut: (one: Place, other: Place) => void
  heal: (one: Place, other: Place) => void
}

/** The network is removed when the test ends. */
export function createNetwork<Place extends string>(places: readonly Place[]): Network<Place> {
  return tryNamespaces(places) ?? createProxies()
}

const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'pipe', 'pipe'] })

/** A network namespace per host, all on one bridge with this process's namespace. */
function tryNamespaces<Place extends string>(places: readonly Place[]): Network<Place> | undefined {
  const prefix = `gs${randomBytes(3).toString('hex')}`
  const subnet = `10.${randomInt(100, 250)}.${randomInt(1, 250)}`
  const hub = `${prefix}-hub`
  const namespace = (place: Place) => `${prefix}-${place}`
  const host = (place: Place) => `${subnet}.${places.indexOf(place) + 10}`
  // Programs in a namespace have exited by then, since clean-up runs in reverse order.
  atEnd(() => {
    for (const name of [...places.map(namespace), hub]) tryIp('netns', 'del', name)
  })
  try {
    ip('netns', 'add', hub)
    ip('-n', hub, 'link', 'add', 'bridge', 'type', 'bridge')
    ip('-n', hub, 'link', 'set', 'bridge', 'up')
    const plug = (port: string) => {
      ip('-n', hub, 'link', 'set', port, 'master', 'bridge')
      ip('-n', hub, 'link', 'set', port, 'up')
    }
    for (const [index, place] of places.entries()) {
      const name = namespace(place)
      ip('netns', 'add', name)
      ip('link', 'add', `port${index}`, 'netns', hub, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
      plug(`port${index}`)
      ip('-n', name, 'addr', 'add', `${host(place)}/24`, 'dev', 'eth0')
      ip('-n', name, 'link', 'set', 'lo', 'up')
      ip('-n', name, 'link', 'set', 'eth0', 'up')
    }
    ip('link', 'add', prefix, 'type', 'veth', 'peer', 'name', 'test', 'netns', hub)
    plug('test')
    ip('addr', 'add', `${subnet}.254/24`, 'dev', prefix)
    ip('link', 'set', prefix, 'up')
  } catch (error) {
    console.warn(`NO NETWORK NAMESPACES HERE, so that proxies cut the network instead: ${String(error)}`)
    return undefined
  }

  /** Frames go to a hardware address that does not exist. */
  const deafen = (from: Place, to: Place) =>
    ip(
      '-n',
      namespace(from),
      'neigh',
      'replace',
      host(to),
      'lladdr',
      '02:00:00:00:00:01',
      'dev',
      'eth0',
      'nud',
      'permanent',
    )
  const undeafen = (from: Place, to: Place) => tryIp('-n', namespace(from), 'neigh', 'del', host(to), 'dev', 'eth0')
  return {
    kind: 'namespaces',
    at: (place) => ['ip', 'netns', 'exec', namespace(place)],
    host,
    own: `${subnet}.254`,
    route: async (_, to, port) => ({ host: host(to), port }),
    cut(one, other) {
      deafen(one, other)
      deafen(other, one)
    },
    heal(one, other) {
      undeafen(one, other)
      undeafen(other, one)
    },
  }
}

function tryIp(...args: string[]) {
  try {
    ip(...args)
  } catch {
    // It does not exist.
  }
}

/** All hosts are this machine. Connections between them use a link, which stalls during a partition. */
function createProxies<Place extends string>(): Network<Place> {
  const links = new Map<string, Link[]>()
  const cuts = new Set<string>()
  const key = (from: Place, to: Place) => [from, to].toSorted().join(' ')
  const each = (one: Place, other: Place, act: (link: Link) => void) => links.get(key(one, other))?.forEach(act)
  return {
    kind: 'proxies',
    at: () => [],
    host: () => '127.0.0.1',
    own: '127.0.0.1',
    async route(from, to, port) {
      const link = await createLink(port)
      if (cuts.has(key(from, to))) link.cut('stall')
      links.set(key(from, to), [...(links.get(key(from, to)) ?? []), link])
      return { host: '127.0.0.1', port: link.port }
    },
    cut(one, other) {
      cuts.add(key(one, other))
      each(one, other, (link) => link.cut('stall'))
    },
    heal(one, other) {
      cuts.delete(key(one, other))
      each(one, other, (link) => link.heal())
    },
  }
}
