import { vi } from 'vitest'

const NEW_MEMBERS = ['rawJSON', 'isRawJSON']

/** Loads modules as they are in Node 20 and older browsers, where JSON cannot preserve a number's notation. */
export async function inOlderJavaScript<T>(load: () => Promise<T>): Promise<T> {
  const members = NEW_MEMBERS.map((name) => [name, Object.getOwnPropertyDescriptor(JSON, name)] as const)
  for (const name of NEW_MEMBERS) Reflect.deleteProperty(JSON, name)
  vi.resetModules()
  try {
    return await load()
  } finally {
    for (const [name, member] of members) Object.defineProperty(JSON, name, member ?? {})
    vi.resetModules()
  }
}
