import mcp from './index.cjs';

export const { mcpmock, races, McpmockError } = mcp;
