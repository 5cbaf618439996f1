import { expect, test } from 'vitest'

test('the polyfilled DisposableStack moves its resources', async () => {
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
