/* tools.js - what the agent may ask this page to do: a demonstration, nothing leaves the page */

const SIDES_MAX = 1000;
const DICE_MAX = 20;

const within = (value, least, most, otherwise) =>
  Number.isInteger(value) ? Math.min(most, Math.max(least, value)) : otherwise;

const tools = {
  get_local_time: {
    description: 'The time and the time zone of the user.',
    parameters: { type: 'object', properties: {} },
    run: () => ({
      time: new Date().toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' }),
      time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    }),
  },
  roll_dice: {
    description: 'Rolls dice, and tells what each shows.',
    parameters: {
      type: 'object',
      properties: {
        sides: { type: 'integer', minimum: 2, maximum: SIDES_MAX },
        count: { type: 'integer', minimum: 1, maximum: DICE_MAX },
      },
    },
    run({ sides, count }) {
      const sidesOfEach = within(sides, 2, SIDES_MAX, 6);
      const roll = () => 1 + Math.floor(sidesOfEach * Math.random());
      return { dice: Array.from({ length: within(count, 1, DICE_MAX, 1) }, roll) };
    },
  },
};

export const toolNames = Object.keys(tools);

/* As a session declares them. */
export function declarations(names) {
  return names.map((name) => {
    const { description, parameters } = tools[name];
    return { type: 'function', name, description, parameters };
  });
}

/* The answer to a call, as JSON: a model's arguments may be anything. */
export function runTool(name, json) {
  if (!Object.hasOwn(tools, name)) {
    return JSON.stringify({ error: `there is no tool ${name}` });
  }
  let given;
  try {
    given = JSON.parse(json || '{}');
  } catch {
    return JSON.stringify({ error: 'the arguments are no JSON' });
  }
  return JSON.stringify(tools[name].run(given ?? {}));
}
