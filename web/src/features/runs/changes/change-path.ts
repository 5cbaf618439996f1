const NAME = /^[A-Za-z_][\w-]*$/

/** Adds a step to the place of an attribute: `tags` and `env` are `tags.env`, `ingress` and 0 are `ingress[0]`. */
export function pathWith(path: string, step: string | number) {
  if (typeof step === 'number') return `${path}[${step}]`
  if (!NAME.test(step)) return `${path}[${JSON.stringify(step)}]`
  return path === '' ? step : `${path}.${step}`
}

/** The place that steps lead to. */
export function pathOf(steps: readonly (string | number)[]) {
  return steps.reduce<string>(pathWith, '')
}

/** Whether one place is the other, or lies in it. */
export function isWithin(path: string, outer: string) {
  return path === outer || (path.startsWith(outer) && /^[.[]/.test(path.slice(outer.length)))
}
