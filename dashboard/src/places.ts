// The views of the page: in the navigation, the palette and the help.
// Name in the address, name for people, the key behind g, what is there.
export const places: [string, string, string, string][] = [
  ['tasks', 'Tasks', 't', 'tasks'],
  ['approvals', 'Approvals', 'a', 'approvals and rules'],
  ['problems', 'Problems', 'p', 'problems'],
  ['plans', 'Plans', 'l', 'plans'],
  ['steps', 'Steps', 'h', 'steps, as a heatmap'],
  ['scheduler', 'Scheduler', 's', 'scheduler'],
  ['timeline', 'Timeline', 'i', 'timeline of the process'],
  ['schedules', 'Schedules', 'c', 'schedules'],
  ['memory', 'Memory', 'm', 'memory of agents'],
  ['skills', 'Skills', 'k', 'skills of agents'],
  ['start', 'Start', 'n', 'start a task'],
  ['settings', 'Settings', 'e', 'settings'],
];
