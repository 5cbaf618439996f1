import threads from 'node:worker_threads'
import zlib from 'node:zlib'

/** Polyfills for Node 20. Only the built package loads them, before anything else. */

if (Number(process.versions.node.split('.', 1)[0]) < 20) {
  process.stderr.write(`groundstate-agent: Node.js 20 or later is needed, this is ${process.version}\n`)
  process.exit(1)
}

function define(target: object, name: PropertyKey, value: unknown) {
  if (!(name in target)) Object.defineProperty(target, name, { value, configurable: true, writable: true })
}

// undici refers to both when it is loaded. The agent neither requests zstd nor posts messages to threads.
define(zlib, 'createZstdDecompress', () => {
  throw new Error('this Node has no zstd')
})
define(threads, 'markAsUncloneable', () => {})
define(Symbol, 'dispose', Symbol('Symbol.dispose'))
define(Symbol, 'asyncDispose', Symbol('Symbol.asyncDispose'))

define(Promise, 'withResolvers', function withResolvers() {
  let resolve: unknown
  let reject: unknown
  const promise = new Promise((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { promise, resolve, reject }
})

define(AbortSignal, 'any', (signals: Iterable<AbortSignal>) => {
  const controller = new AbortController()
  for (const signal of signals) {
    if (signal.aborted) controller.abort(signal.reason)
    else
      signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true, signal: controller.signal })
  }
  return controller.signal
})

class OlderSuppressedError extends Error {
  override name = 'SuppressedError'
  error: unknown
  suppressed: unknown

  constructor(error: unknown, suppressed: unknown, message?: string) {
    super(message)
    this.error = error
    this.suppressed = suppressed
  }
}
define(globalThis, 'SuppressedError', OlderSuppressedError)

/** Disposes in reverse order. An error does not prevent the remaining disposals. */
class OlderStack {
  disposals: (() => unknown)[] = []
  disposed = false

  defer(onDispose: () => unknown) {
    if (this.disposed) throw new ReferenceError('the stack is disposed')
    this.disposals.push(onDispose)
  }

  take() {
    this.disposed = true
    return this.disposals.splice(0)
  }
}

function throwAll(failures: unknown[]) {
  if (failures.length > 0) throw failures.reduce((former, error) => new OlderSuppressedError(error, former))
}

class OlderDisposableStack extends OlderStack {
  use<T extends Disposable | null | undefined>(value: T): T {
    if (value != null) this.defer(() => value[Symbol.dispose]())
    return value
  }

  move(): OlderDisposableStack {
    const next = new OlderDisposableStack()
    next.disposals = this.take()
    return next
  }

  dispose() {
    this[Symbol.dispose]()
  }

  [Symbol.dispose]() {
    const failures: unknown[] = []
    for (const dispose of this.take().toReversed()) {
      try {
        dispose()
      } catch (error) {
        failures.push(error)
      }
    }
    throwAll(failures)
  }
}
define(globalThis, 'DisposableStack', OlderDisposableStack)

class OlderAsyncDisposableStack extends OlderStack {
  use<T extends AsyncDisposable | Disposable | null | undefined>(value: T): T {
    if (value != null)
      this.defer(() => (Symbol.asyncDispose in value ? value[Symbol.asyncDispose]() : value[Symbol.dispose]()))
    return value
  }

  async [Symbol.asyncDispose]() {
    const failures: unknown[] = []
    for (const dispose of this.take().toReversed()) {
      try {
        await dispose()
      } catch (error) {
        failures.push(error)
      }
    }
    throwAll(failures)
  }
}
define(globalThis, 'AsyncDisposableStack', OlderAsyncDisposableStack)
