import { expect, test } from 'vitest'

test('a stack for Node 20 hands on what it holds', async () => {
  const own = globalThis.DisposableStack
  Reflect.deleteProperty(globalThis, 'DisposableStack')
  try {
    await import('./old-node.ts')
    expect(globalThis.DisposableStack).not.toBe(own)
    const disposed: string[] = []
    const first = new DisposableStack()
    first.defer(() => disposed.push('resource'))

    const second = first.move()
    first[Symbol.dispose]()
    const afterFirst = [...disposed]
    second.dispose()
    second.dispose()

    expect(afterFirst).toEqual([])
    expect(disposed).toEqual(['resource'])
  } finally {
    globalThis.DisposableStack = own
  }
})
