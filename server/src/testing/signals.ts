import type { App } from '../app.ts'

/** Waits until this server has been told of all signals so far. They come in order, a moment after what they tell of was committed. */
export async function allSignals(app: App): Promise<void> {
  using mark = app.signals.subscribe('so-far')
  app.signals.publish(app.db, 'so-far')
  await mark.next({ timeoutMs: 5000 })
}
