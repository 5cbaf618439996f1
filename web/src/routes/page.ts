import { lazyRouteComponent } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { PAGE_TITLE } from '../components/page.tsx'
import type { Crumb } from '../frame/top-bar.tsx'

type Params = Record<string, string>
type PageName<Module> = { [Name in keyof Module]: Module[Name] extends () => ReactNode ? Name : never }[keyof Module]

/** Options of a page's route: its breadcrumbs, by default the page's title, and its component, the export `name` of a lazy chunk. */
export function page<Module extends Record<string, unknown>>(
  load: () => Promise<Module>,
  name: PageName<Module> & string,
  crumbs: (params: Params) => readonly Crumb[] = () => [{ text: PAGE_TITLE }],
) {
  return {
    staticData: { crumbs },
    component: lazyRouteComponent(load as () => Promise<Record<string, () => ReactNode>>, name),
  }
}

/** Breadcrumbs of a page below another one: the parent's with a link, and the page's title. */
export function below(text: string, to: string) {
  return (params: Params): readonly Crumb[] => [{ text, link: { to, params } }, { text: PAGE_TITLE }]
}
